// The start-up of one node: its ranks find each other by names that were exchanged before, and agree on what they
// share.
//
// The leader makes the node memory and waits for the others; each of them connects, names itself with the job's secret
// and gets the node memory's descriptor through its mailbox. Then the leader proposes addresses for the segment pool
// until one is free in every rank. The connections stay open: they are the liveness connections (liveness.hpp).
//
//   member → leader   hello   (secret, rank: greetings.hpp)
//   leader → member   node memory by mailbox
//   leader → members  propose (base, bytes)          once per candidate
//   member → leader   answer  (1: reserved, 0: taken)
//   leader → members  settle  (1: this one, 0: the next)
//
// Threads: `join` from the thread that starts up; descriptors may be sent and received by any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "launch/internal/liveness.hpp"
#include "launch/launch.hpp"
#include "os/mailbox.hpp"
#include "os/shared_memory.hpp"
#include "os/stream.hpp"

namespace grapnel::launch {

/// What a rank opens before it knows which ranks share its machine, so that one exchange carries all.
struct NodeEndpoints {
  std::string mailbox_name;
  std::string listener_name;
  os::Mailbox mailbox;
  os::Listener listener;

  /// Under names that cannot be guessed.
  static Result<NodeEndpoints> open();
};

/// What the exchange carried about one rank of the node.
struct Neighbour {
  Rank rank{};
  std::string mailbox_name;
  std::string listener_name;
};

class NodeLink {
 public:
  struct Plan {
    Rank me{};
    std::vector<Neighbour> ranks;  ///< all ranks of the node, me too, in ascending order; [0] is the leader
    std::uint64_t job_secret = 0;
    std::size_t pool_bytes = 0;
    std::size_t node_memory_bytes = 0;
  };

  /// Collective over the node's ranks. Errors: timed_out naming the missing ranks, peer_dead, no_memory, unavailable
  /// when no address is free in all of them.
  static Result<std::unique_ptr<NodeLink>> join(os::Host& host, Plan plan, NodeEndpoints doors);

  /// The connections, for the watcher. Once.
  std::vector<Liveness::Peer> take_peers() { return std::move(peers_); }
  LivenessWords& liveness_words() { return *liveness_words_; }
  NodeMemory& memory() { return *memory_; }
  os::AddressPool& pool() { return *pool_; }

  Status send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor);
  /// `health` is asked at least every 250 ms; its failure ends the wait.
  Result<os::Descriptor> receive_descriptor(std::uint64_t tag, const std::function<Status()>& health);

 private:
  NodeLink(os::Host& host, Plan plan, NodeEndpoints doors)
      : host_(host), plan_(std::move(plan)), endpoints_(std::move(doors)) {}

  bool leads() const { return plan_.ranks.front().rank == plan_.me; }
  Status meet();
  Status gather_members();
  Status greet_leader();
  Status share_memory();
  Status map_memory(const os::Descriptor& file);
  Status agree_on_pool();
  Result<bool> propose(std::uintptr_t base);
  Status follow_proposals();
  Status no_common_base() const;
  /// One letter into the stash; false when none came in time. Under `mailbox_mutex_`, as is the next.
  Result<bool> take_letter(std::uint64_t timeout_ns) GRAPNEL_REQUIRES(mailbox_mutex_);
  Status empty_mailbox() GRAPNEL_REQUIRES(mailbox_mutex_);

  os::Host& host_;
  const Plan plan_;
  NodeEndpoints endpoints_;
  std::vector<Liveness::Peer> peers_;
  os::Mapping mapping_;
  LivenessWords* liveness_words_ = nullptr;
  std::unique_ptr<NodeMemory> memory_;
  std::unique_ptr<os::AddressPool> pool_;
  base::Mutex mailbox_mutex_;
  std::multimap<std::uint64_t, os::Descriptor> stash_
      GRAPNEL_GUARDED_BY(mailbox_mutex_);  ///< came before they were asked for
};

}  // namespace grapnel::launch
