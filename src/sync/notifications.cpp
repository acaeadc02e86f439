#include "sync/notifications.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {

Notifications::Notifications(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client,
                             rma::Rma& rma)
    : launch_(launch),
      waiting_(waiting),
      client_(client),
      rma_(rma),
      size_(static_cast<std::size_t>(launch.size())),
      place_(launch::places_in_nodes(launch.nodes())),
      counts_(launch.node_memory().carve<os::Word>(launch.nodes().ranks_of[index(launch.node())].size() * size_)),
      taken_(size_) {}

void Notifications::add_handlers(progress::HandlerTable& table) {
  table.add(kNotifyHandler,
            {"notify", sizeof(NotifyBody), sizeof(NotifyBody), false, [this](progress::Request& request) {
               const auto body = request.body_as<NotifyBody>();
               const auto target = static_cast<std::size_t>(body.target);
               const auto& node_of = launch_.nodes().node_of;
               if (target >= size_ || node_of[target] != launch_.node()) return progress::Outcome::refused;
               increment(count_of(Rank{body.target}, request.origin));
               return progress::Outcome::done;
             }});
}

void Notifications::increment(os::Word& count) {
  // release: the waiter's acquire in Waiting::on_word sees what was written before.
  count.fetch_add(1, std::memory_order_release);
  waiting_.host().wake(count);
}

Status Notifications::check(Rank rank, const char* what) const {
  if (static_cast<std::size_t>(rank) < size_) return {};
  return Status(Code::invalid_argument,
                fmt::format("{}: rank {} is outside the job (0…{})", what, static_cast<int>(rank), size_ - 1));
}

Status Notifications::send(Rank target) {
  GRAPNEL_TRY(check(target, "notify"));
  const NodeId node = launch_.nodes().node_of[index(target)];
  if (node == launch_.node()) {
    increment(count_of(target, launch_.rank()));
    return {};
  }
  const NotifyBody body{static_cast<std::int32_t>(index(target))};
  progress::Order order;
  order.handler = kNotifyHandler;
  order.body = base::bytes_of(body);
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(rma_.before_messages(node));
  if (const auto sent = client_->send(node, order); !sent) return sent.status();
  return client_->drain(node);
}

Result<std::uint32_t> Notifications::wait(Rank from) {
  const auto number = take(from);
  if (!number) return number.status();
  std::uint32_t come = 0;
  GRAPNEL_TRY(wait_until(from, *number, progress::Waiting::kForever, come));
  return come;
}

Result<std::uint32_t> Notifications::take(Rank from) {
  GRAPNEL_TRY(check(from, "wait for a notification"));
  // relaxed: only which one is meant; two threads that wait take different ones.
  return taken_[index(from)].fetch_add(1, std::memory_order_relaxed) + 1;
}

Result<bool> Notifications::wait_within(Rank from, std::uint32_t number, std::uint64_t timeout_ns,
                                        std::uint32_t& come) {
  const Status waited = wait_until(from, number, waiting_.host().now_ns() + timeout_ns, come);
  if (waited.code() == Code::timed_out) return false;
  if (!waited.ok()) return waited;
  return true;
}

Status Notifications::wait_until(Rank from, std::uint32_t number, std::uint64_t until_ns, std::uint32_t& come) {
  return waiting_.on_word(
      count_of(launch_.rank(), from),
      [&](std::uint32_t& count) {
        come = count;
        return static_cast<std::int32_t>(count - number) >= 0;
      },
      until_ns, progress::Waiting::kLongestSleep_ns,
      [from] {
        return progress::WaitSubject{progress::WaitKind::notification, "wait_notify", {index(from)}};
      });
}

}  // namespace grapnel::sync
