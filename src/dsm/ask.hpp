// A request whose answer a rank waits for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dsm/heap.hpp"

namespace grapnel::dsm {

// Sends a request and waits for its answer, which `state` takes. Where the wait fails, `state` is left to a late
// answer.
template <typename State>
Status Heap::ask(std::size_t node, Call call, ByteView body, std::size_t reply_bytes, std::unique_ptr<State>& state) {
  progress::OutgoingRequest order;
  order.handler = handler(call);
  order.body = body;
  order.reply_bytes = reply_bytes;
  order.on_reply = {State::answered, state.get()};
  const progress::Client::Guard guard(*core_.client);
  Status waited = core_.client->send(NodeId{static_cast<int>(node)}, order).status();
  if (waited.ok()) {
    waited = core_.client->wait_until(
        [&] { return state->done; }, progress::Waiting::kForever,
        [node] {
          return progress::WaitSubject{progress::WaitKind::answer, "access to the shared heap", {node}};
        });
  }
  if (!waited.ok()) static_cast<void>(state.release());
  return waited;
}

}  // namespace grapnel::dsm
