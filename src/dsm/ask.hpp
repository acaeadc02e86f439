// Requests whose answers a rank waits for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "dsm/heap.hpp"

namespace grapnel::dsm {

/// A request: its body, and how much its answer brings at most.
struct Heap::Asked {
  ByteView body;
  std::size_t reply_bytes = 0;
};

// Sends requests and waits for their answers, which the states take. Where the wait fails, they are left to late
// answers.
template <typename State, typename Describe>
Status Heap::ask_all(std::size_t node, Call call, std::vector<std::unique_ptr<State>>& states, Describe describe) {
  if (states.empty()) return {};
  const progress::Client::Guard guard(*core_.client);
  Status waited;
  for (std::size_t i = 0; i < states.size() && waited.ok(); ++i) {
    const Asked asked = describe(*states[i]);
    progress::OutgoingRequest request;
    request.handler = handler(call);
    request.body = asked.body;
    request.reply_bytes = asked.reply_bytes;
    request.on_reply = {State::answered, states[i].get()};
    waited = core_.client->send(NodeId{static_cast<int>(node)}, request).status();
  }
  if (waited.ok()) {
    waited = core_.client->wait_until(
        [&] { return std::all_of(states.begin(), states.end(), [](const auto& state) { return state->done; }); },
        progress::Waiting::kForever,
        [node] {
          return progress::WaitSubject{progress::WaitKind::answer, "access to the shared heap", {node}};
        });
  }
  if (!waited.ok()) {
    for (auto& state : states) static_cast<void>(state.release());
  }
  return waited;
}

// One request. Where the wait fails, `state` is null.
template <typename State>
Status Heap::ask(std::size_t node, Call call, ByteView body, std::size_t reply_bytes, std::unique_ptr<State>& state) {
  std::vector<std::unique_ptr<State>> one(1);
  one[0] = std::move(state);
  Status waited = ask_all(node, call, one, [&](const State&) { return Asked{body, reply_bytes}; });
  state = std::move(one[0]);
  return waited;
}

}  // namespace grapnel::dsm
