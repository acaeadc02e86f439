// N ranks as threads of one process: the launcher of simulated worlds and of the thread sanitizer's.
//
// Nodes are contiguous blocks of ranks (make_node_map); the ranks of a node share its node memory and its address pool,
// as processes of a node would. All waiting goes through the rank's Host, in slices after which the health is looked
// at; no lock is held during a wait, so a scheduler that runs one thread at a time is never blocked.
//
// Stricter than the launchers: a published value stays invisible until the next fence is complete.
//
// Threads: InprocWorld from any thread; a Launch by one thread at a time, but for `health`. The world outlives its
// Launches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "launch/launch.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::launch {

struct InprocOptions {
  int ranks = 1;
  int nodes = 1;
  std::uint64_t job_secret = 0x6772'6170'6e65'6c21;
  std::size_t pool_bytes = std::size_t{4} << 30;  ///< addresses of each node
  /// What `Launch::abort` does after it marked the world failed; must not return. Empty: print and std::abort.
  std::function<void(Rank rank, int exit_code, const std::string& why)> on_abort = {};
};

class InprocWorld {
 public:
  /// Errors: invalid_argument (ranks or nodes below 1); what node memory and pools may answer.
  static Result<std::unique_ptr<InprocWorld>> create(const InprocOptions& options);
  ~InprocWorld();

  /// The Launch of one rank. `host` outlives it.
  std::unique_ptr<Launch> join(Rank rank, os::Host& host);

  /// Declares a rank dead: from now on every rank's health names it, and collectives fail. The rank's threads are the
  /// caller's to stop.
  void kill(Rank rank);

  const NodeMap& nodes() const { return nodes_; }

 private:
  friend class InprocLaunch;

  struct NodeShare {
    os::Mapping memory;
    std::unique_ptr<os::AddressPool> pool;
  };
  struct Inbox {
    os::Word arrivals{0};  ///< changes with every descriptor
    std::map<std::uint64_t, std::deque<os::Descriptor>> by_tag;
  };

  explicit InprocWorld(const InprocOptions& options);
  Status make_node_share(NodeShare& share, std::size_t bytes) const;
  Status health() const;
  /// True when the caller was the last one in; the fence is then complete.
  bool arrive(std::uint32_t& generation_seen);

  const InprocOptions options_;
  NodeMap nodes_;
  std::vector<NodeShare> shares_;  ///< by node
  std::vector<Inbox> inboxes_;     ///< by rank
  std::atomic<int> dead_rank_{-1};
  std::atomic<int> aborting_rank_{-1};

  base::Mutex mutex_;  ///< guards the maps of the inboxes, too; never held across a call of a Host
  using Key = std::pair<Rank, std::string>;
  std::map<Key, Bytes> staged_ GRAPNEL_GUARDED_BY(mutex_), published_ GRAPNEL_GUARDED_BY(mutex_);
  int arrived_ GRAPNEL_GUARDED_BY(mutex_) = 0;
  os::Word fences_completed_{0};
};

}  // namespace grapnel::launch
