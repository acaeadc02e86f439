#include "sync/barrier.hpp"

#include "base/codec.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {

Barrier::Barrier(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client)
    : launch_(launch), waiting_(waiting), client_(client), words_(launch.node_memory().carve<Words>(1).front()) {}

void Barrier::add_handlers(progress::HandlerTable& table) {
  table.add(kBarrierHandler,
            {"barrier", sizeof(BarrierBody), sizeof(BarrierBody), false, [this](progress::Request& request) {
               const auto body = request.body_as<BarrierBody>();
               if (body.round >= kMaxRounds) return progress::Outcome::refused;
               // release: pairs with the waiter's acquire in Waiting::on_word.
               words_.heard[body.round].fetch_add(1, std::memory_order_release);
               waiting_.host().wake(words_.heard[body.round]);
               return progress::Outcome::done;
             }});
}

Status Barrier::wait() {
  const auto local = static_cast<std::uint32_t>(launch_.nodes().ranks_of[index(launch_.node())].size());
  const std::uint32_t open_at = ++barriers_done_;
  // acq_rel: the last to arrive sees what all wrote before, and passes it on by the gate.
  if (words_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == local) {
    GRAPNEL_TRY(meet_other_nodes());
    words_.arrived.store(0, std::memory_order_relaxed);  // ordered by the gate's release
    words_.gate.store(open_at, std::memory_order_release);
    if (local > 1) waiting_.host().wake(words_.gate);
    return {};
  }
  return waiting_.on_word(words_.gate,
                          [&](std::uint32_t& gate) { return static_cast<std::int32_t>(gate - open_at) >= 0; });
}

Status Barrier::meet_other_nodes() {
  if (client_ == nullptr) return {};
  const std::size_t nodes = launch_.nodes().node_count();
  const std::size_t me = index(launch_.node());
  std::uint32_t round = 0;
  for (std::size_t distance = 1; distance < nodes; distance *= 2, ++round) {
    const NodeId to{static_cast<std::int32_t>((me + distance) % nodes)};
    const BarrierBody body{round};
    progress::Order order;
    order.handler = kBarrierHandler;
    order.body = base::bytes_of(body);
    {
      progress::Client::Guard guard(*client_);
      if (const auto sent = client_->send(to, order); !sent) return sent.status();
      GRAPNEL_TRY(client_->drain(to));
    }
    GRAPNEL_TRY(waiting_.on_word(words_.heard[round], [&](std::uint32_t& heard) {
      return static_cast<std::int32_t>(heard - barriers_done_) >= 0;
    }));
  }
  return {};
}

}  // namespace grapnel::sync
