// Words in the network domain, as one rank reaches them: the adapter of a word's node executes atomics and puts, also
// for ranks of that node. In a job of one node there is no adapter, and the processor executes them.
//
// Invariants:
//  1. A call's words belong to it until its operation has ended, also where the caller has stopped waiting.
//  2. A word is updated only through here: `start` refuses words of other allocations, rma those of these ones.
//
// Threads: any; what is marked so with the client's Guard, where there is a client. Ends after the client.
// Source: mpi2-passive, sections 2 and 5 (compare-and-swap and fetch-and-add by the adapter).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "segment/segment.hpp"
#include "transport/transport.hpp"

namespace grapnel::core {

struct Core;

class NetworkWords {
 public:
  using Atomic = transport::Atomic;

  /// An operation under way.
  struct Call {
    NetworkWords* owner = nullptr;
    std::atomic<bool> arrived{true};  ///< or not in use; release: what is below was written before
    bool abandoned = false;
    std::uint64_t value = 0;  ///< the old one, or the one that a put writes
    Status outcome;
  };

  explicit NetworkWords(const Core& core);

  /// The client's Guard, where there is a client.
  class Guard {
   public:
    explicit Guard(NetworkWords& words) {
      if (words.client_ != nullptr) guard_.emplace(*words.client_);
    }

   private:
    std::optional<progress::Client::Guard> guard_;
  };

  /// Once per allocation, by each member, without the Guard: opens the ways to the members' nodes. Their servers take
  /// part in the first one of this rank, and in nothing afterwards. Errors: unavailable, peer_dead.
  Status open(const launch::Group& group);

  // With the Guard:
  /// The operation has left; `finish` or `abandon` follows. Errors: invalid_argument (no word of the network domain
  /// that this rank knows), peer_dead, refused.
  Result<Call*> start(const Atomic& what, void* word, Rank target);
  /// The old value. timed_out: not by `until_ns`, and the call goes on. Else it is over.
  Result<std::uint64_t> finish(Call* call, std::uint64_t until_ns = progress::Waiting::kForever);
  /// Both. A swap that the adapter lacks is made of compare-and-swaps.
  Result<std::uint64_t> run(const Atomic& what, void* word, Rank target);
  /// Complete at the target on return.
  Status put(std::uint64_t value, void* word, Rank target);

  /// For a caller that waits no more. Any thread, without the Guard, too.
  void abandon(Call* call);
  /// Every operation that this rank has started has ended, those that were abandoned too: before the memory is freed.
  /// Without the Guard. Errors: peer_dead.
  Status settle();
  /// Memory is about to be freed, or the client ends: keys are imported again at their next use. Without the Guard.
  void forget_keys();

 private:
  struct Place {
    NodeId node;
    transport::EndpointId endpoint;
    const transport::RemoteKey* key;
  };
  Result<Place> place_of(const void* word, Rank target);
  Result<std::uint64_t> swap_by_compare(const Atomic& what, void* word, Rank target);
  Status open_node(NodeId node);
  Call* take_call();
  void give_back(Call* call);
  template <typename Start>
  Result<Call*> begin(Call* call, Start start);
  static void ended(void* call, const Status& outcome);

  launch::Launch& launch_;
  segment::SegmentTable& segments_;
  progress::Client* client_;  ///< null in a job of one node
  const bool has_swap_;
  std::vector<std::uint8_t> opened_;                                     ///< by node
  std::map<std::uint64_t, std::unique_ptr<transport::RemoteKey>> keys_;  ///< by region id
  base::Mutex calls_mutex_;
  std::deque<Call> calls_ GRAPNEL_GUARDED_BY(calls_mutex_);  ///< all, in use or not: they never move
  std::vector<Call*> free_ GRAPNEL_GUARDED_BY(calls_mutex_);
};

}  // namespace grapnel::core
