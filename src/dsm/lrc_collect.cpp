// A collection of records: in a barrier in which a node requests one, behind the node's step.
//
//   1  each node changes halves, and names the pages that it has records of to their keepers
//      barrier
//   2  a keeper makes those pages valid
//      barrier
//   3  each node drops the records of those pages
//
// Each step is one rank's of each node, for all of them. A page of which no node has records is left alone: what was
// written to it is in its writers' copies still, and goes into a record when it is asked for.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "dsm/lrc.hpp"
#include "dsm/node_turn.hpp"
#include "dsm/page_set.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {

Status Lrc::clean_up() {
  GRAPNEL_TRY(take_turn(&Lrc::name_to_keepers));
  GRAPNEL_TRY(heap_.barriers_.run(core_.world));
  GRAPNEL_TRY(take_turn(&Lrc::complete_what_is_kept));
  GRAPNEL_TRY(heap_.barriers_.run(core_.world));
  return take_turn(&Lrc::drop_records);
}

Status Lrc::take_turn(Status (Lrc::*step)()) {
  RecordWords& words = records_.memory().words();
  return once_per_node(core_, words.turn_begun, words.turn_done, turns_++, [&] { return (this->*step)(); });
}

// `copy` of each page is taken: a record that the server makes of it at this moment, for a thread of another node, lies
// in the half that is given up, or is made later.
Status Lrc::name_to_keepers() {
  records_.change_halves();
  std::vector<std::vector<std::size_t>> by_keeper(memory_.node_count());
  for (std::size_t page = 0; page < memory_.page_count(); ++page) {
    PageHistory& history = records_.history(page);
    if (history.newest.load(std::memory_order_relaxed) == 0 && !history.copy.is_taken()) continue;
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    if (history.newest.load(std::memory_order_relaxed) == 0) continue;
    history.collect.fetch_or(Records::kSentToKeeper, std::memory_order_relaxed);
    by_keeper[keeper_of(page, memory_.node_count())].push_back(page);
  }
  for (const std::size_t page : by_keeper[heap_.me_]) {
    records_.history(page).collect.fetch_or(Records::kKept, std::memory_order_relaxed);
  }
  by_keeper[heap_.me_].clear();
  return send_to_keepers(by_keeper);
}

// Late acknowledgements still find it where a wait fails.
struct Lrc::KeepRequests {
  std::vector<Bytes> runs;
  std::size_t pending = 0;
  std::optional<std::size_t> refused;  ///< by this node

  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<KeepRequests*>(context);
    --self.pending;
    if (reply.code != progress::ReplyCode::answer) self.refused = index(reply.node);
  }
};

Status Lrc::send_to_keepers(const std::vector<std::vector<std::size_t>>& by_keeper) {
  auto requests = std::make_unique<KeepRequests>();
  std::vector<std::size_t> keepers;
  for (std::size_t node = 0; node < by_keeper.size(); ++node) {
    const std::vector<os::Pages> runs = runs_of(by_keeper[node]);
    for (std::size_t at = 0; at < runs.size(); at += kMostRunsPerMessage) {
      const std::size_t count = std::min(kMostRunsPerMessage, runs.size() - at);
      requests->runs.push_back(encode_runs(std::span(runs).subspan(at, count)));
      keepers.push_back(node);
    }
  }
  Status sent;
  const progress::Client::Guard guard(*core_.client);
  for (std::size_t i = 0; i < keepers.size() && sent.ok(); ++i) {
    progress::OutgoingRequest request;
    request.handler = heap_.handler(Call::keep);
    request.payload = requests->runs[i];
    request.on_reply = {KeepRequests::answered, requests.get()};
    ++requests->pending;
    sent = core_.client->send(NodeId{static_cast<int>(keepers[i])}, request).status();
  }
  if (sent.ok()) {
    sent = core_.client->wait_until(
        [&] { return requests->pending == 0; }, progress::Waiting::kForever,
        [&] {
          return progress::WaitSubject{progress::WaitKind::answer, "barrier of the shared heap", {keepers.front()}};
        });
  }
  if (requests->refused) heap_.disbelieve(fmt::format("node {} does not keep pages", *requests->refused));
  if (!sent.ok()) static_cast<void>(requests.release());
  return sent;
}

Status Lrc::complete_what_is_kept() {
  for (std::size_t page = 0; page < memory_.page_count(); ++page) {
    PageHistory& history = records_.history(page);
    if ((history.collect.load(std::memory_order_relaxed) & Records::kKept) == 0) continue;
    history.collect.fetch_and(~Records::kKept, std::memory_order_relaxed);
    while (!memory_.words(page).is_valid() && !planted(Bug::kept_and_stale)) GRAPNEL_TRY(make_valid(page));
  }
  return {};
}

Status Lrc::drop_records() {
  for (std::size_t page = 0; page < memory_.page_count(); ++page) {
    PageHistory& history = records_.history(page);
    if ((history.collect.load(std::memory_order_relaxed) & Records::kSentToKeeper) == 0) continue;
    history.collect.fetch_and(~Records::kSentToKeeper, std::memory_order_relaxed);
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    records_.drop(page);
  }
  return {};
}

}  // namespace grapnel::dsm
