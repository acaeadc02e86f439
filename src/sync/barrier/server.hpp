// The server's part in the barriers of its node: it knows the groups, keeps the instances under way, and moves them.
//
// Work comes as messages of other servers (kept by a handler), as launches by local ranks (a list in node memory, and a
// bell), and as writes that were applied. The server's loop calls `look` between its messages, and only there anything
// is sent.
//
// Threads: the server's; construction, `messages` and `add_combine`: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "launch/launch.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "progress/write_counts.hpp"
#include "sync/barrier/instance.hpp"
#include "sync/barrier/words.hpp"

namespace grapnel::sync {

/// The functions that join payloads, by number; the same in all ranks, because the leader's process joins for the
/// others.
class Combines {
 public:
  static constexpr std::uint32_t kMost = kMostCombines;
  /// The same functions in the same order in every rank, each before its first use. Answers its number, from 1. Errors:
  /// unavailable.
  Result<std::uint32_t> add(Combine combine);
  /// Null for 0 and for a number that was not added.
  Combine find(std::uint32_t number) const;

 private:
  std::array<std::atomic<Combine>, kMost> functions_{};
  std::atomic<std::uint32_t> used_{0};
};

/// The group's view from this node; `fanout` of its disseminations.
BarrierMembers make_members(const launch::Launch& launch, std::vector<Rank> ranks, std::uint32_t entry,
                            std::uint32_t fanout);

class BarrierServer final : BarrierHost {
 public:
  BarrierServer(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting,
                progress::Server& server, const progress::WriteCounts& counts, BarrierWords& words,
                const Combines& combines);

  /// Before the server starts. This object outlives it.
  void add_to_server();
  /// The same as a kBarrierGroupHandler message; before the server starts.
  void add_group(std::uint64_t group, std::vector<Rank> members, std::uint32_t entry);

  /// Sent by this node for barriers.
  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }

 private:
  using Name = std::pair<std::uint64_t, std::uint32_t>;  ///< group, count

  /// What another server has sent for groups that no rank of this node has named.
  struct Share {
    std::size_t instances = 0, bytes = 0;
    bool overrun = false;  ///< some of it was refused, so that a barrier might wait for it
  };
  static constexpr std::size_t kShareInstances = 2 * std::size_t{BarrierWords::kEntries};
  static constexpr std::size_t kShareBytes = 16 * base::kMiB;

  bool look();
  progress::Outcome keep_early(NodeId from, const Name& name, const BarrierBody& body, ByteView payload);
  void give_share_back(BarrierInstance& instance);
  void check_shares_of(const BarrierMembers& members) const;
  bool is_under_way(std::uint64_t group) const;
  void launch_instance(std::uint32_t entry);
  void proceed(const Name& name);
  void end(const Name& name, BarrierInstance& instance);
  BarrierInstance& instance(const Name& name);
  void note_move(const Name& name);
  progress::Outcome on_message(progress::Request& request);
  progress::Outcome on_group(progress::Request& request);

  void send(NodeId node, const BarrierBody& body, ByteView payload) override;
  std::uint64_t counted(const BarrierMembers& members, NodeId node) const override;
  std::uint64_t applied(const BarrierMembers& members) const override;
  std::uint64_t refused() const override;
  [[noreturn]] void abort_job(std::uint64_t group, const std::string& why) const override;

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Server& server_;
  const progress::WriteCounts counts_;  ///< a copy: the client that it came from ends before the server
  BarrierWords& words_;
  const Combines& combines_;
  const std::uint32_t processors_;  ///< of the machine
  const Terms terms_;               ///< of a group of all nodes
  std::map<std::uint64_t, BarrierMembers> groups_;
  std::uint64_t world_ = 0;    ///< the group of all ranks, which is never released
  std::vector<Share> shares_;  ///< by node
  std::map<Name, BarrierInstance> instances_;
  std::vector<Name> moved_;   ///< got a message since they were looked at
  std::vector<Name> moving_;  ///< are looked at; kept for its memory
  std::set<Name> waiting_for_writes_;
  std::uint64_t writes_seen_ = 0;  ///< applied by this server when those were last looked at
  std::atomic<std::uint64_t> messages_{0};
};

}  // namespace grapnel::sync
