// SPDX-License-Identifier: Apache-2.0
#include "sync/notifications.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {

Notifications::Notifications(core::Core& core, rma::Rma& rma)
    : launch_(core.launch),
      waiting_(core.waiting),
      client_(core.client),
      rma_(rma),
      size_(static_cast<std::size_t>(launch_.size())),
      place_(launch::places_in_nodes(launch_.nodes())),
      counts_(launch_.node_memory().carve<os::Word>(launch_.nodes().ranks_of[index(launch_.node())].size() * size_)),
      taken_(size_) {
  if (core.server != nullptr) add_handlers(core.server->handlers());
}

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
  progress::OutgoingRequest request;
  request.handler = kNotifyHandler;
  request.body = base::bytes_of(body);
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(rma_.before_messages(node));
  if (const auto sent = client_->send(node, request); !sent) return sent.status();
  return client_->drain(node);
}

Result<std::uint32_t> Notifications::wait(Rank from) {
  GRAPNEL_TRY(check(from, "wait for a notification"));
  // relaxed: only which one is meant; two threads that wait take different ones.
  const std::uint32_t number = taken_[index(from)].fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t arrived = 0;
  GRAPNEL_TRY(waiting_.on_word(
      count_of(launch_.rank(), from),
      [&](std::uint32_t& count) {
        arrived = count;
        return static_cast<std::int32_t>(count - number) >= 0;
      },
      progress::Waiting::kForever, progress::Waiting::kLongestSleep_ns,
      [from] {
        return progress::WaitSubject{progress::WaitKind::notification, "wait_notify", {index(from)}};
      }));
  return arrived;
}

}  // namespace grapnel::sync
