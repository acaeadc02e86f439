// Collectives: broadcast, reduce, allreduce, allgather, all-to-all, of the job or of any group. No barrier: no write to
// other memory is completed by them.
//
//   in the node       the ranks show each other their data in node memory                       (node_part.hpp)
//   between nodes     each node's speaker sends: the root, or its first member                    (between_nodes.hpp)
//   in the node       the speaker shows the result to the others
//
// A rank returns when its own buffers may be reused and its result is there. Calls of one group are matched by their
// order; calls of groups that overlap may be made by each rank in its own order, where no two wait for each other. Any
// member may be waited for: a program must not count on a broadcast's or a reduction's returning before the others have
// called it.
//
// Reproducible: elements are joined in the order of ranks in a node, and then in the order of nodes, whichever way they
// go and which rank comes first. The same call of the same group on the same node map gives all members the same bits.
//
// Members that call something else than the rest end the job; the message names two of them and what they called.
//
// Threads: collective calls, from one thread of a rank at a time.
// Cost: docs/collective.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/count.hpp"
#include "collective/between_nodes.hpp"
#include "collective/call.hpp"
#include "collective/group_nodes.hpp"
#include "collective/long_data.hpp"
#include "collective/node_part.hpp"
#include "collective/node_words.hpp"
#include "collective/started_calls.hpp"
#include "core/core.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"

namespace grapnel::collective {

extern const core::ServiceType kService;

class Collectives final : public core::Service {
 public:
  /// Collective in the order of carving.
  explicit Collectives(core::Core& core);

  // Errors of all: invalid_argument (a null buffer for something, a root that is no member, a reduction without
  // function or element, elements over kPostBytes): nothing was sent, and the others wait for this rank. unavailable
  // (too many groups), peer_dead.

  /// `data` of the root to the `data` of all.
  Status broadcast(const launch::Group& group, void* data, std::size_t bytes, Rank root);
  /// `count` elements of each, joined at `destination` of the root; elsewhere `destination` is not touched. It may be
  /// `source`, and otherwise does not overlap it.
  Status reduce(const launch::Group& group, const Reduction& reduction, const void* source, void* destination,
                std::size_t count, Rank root);
  Status allreduce(const launch::Group& group, const Reduction& reduction, const void* source, void* destination,
                   std::size_t count);
  /// `bytes` of each, one after the other in the order of members. `source` may be this rank's place in `destination`.
  Status allgather(const launch::Group& group, const void* source, void* destination, std::size_t bytes);
  /// The i-th piece of `source` to member i; from it the i-th piece of `destination`. Pieces lie one after the other;
  /// `send_bytes` and `receive_bytes` have their lengths, by member. What a rank sends another and what that one
  /// expects are equal, or the job ends.
  Status alltoall(const launch::Group& group, const void* source, std::span<const std::size_t> send_bytes,
                  void* destination, std::span<const std::size_t> receive_bytes);

  // The same in two steps; `source` may be reused on return, the result is written by the call's `test` or `wait`.
  // Errors: as above.
  using Started = Result<std::shared_ptr<StartedCall>>;
  Started start_broadcast(const launch::Group& group, void* data, std::size_t bytes, Rank root);
  Started start_reduce(const launch::Group& group, const Reduction& reduction, const void* source, void* destination,
                       std::size_t count, Rank root);
  Started start_allreduce(const launch::Group& group, const Reduction& reduction, const void* source, void* destination,
                          std::size_t count);
  Started start_allgather(const launch::Group& group, const void* source, void* destination, std::size_t bytes);
  Started start_alltoall(const launch::Group& group, const void* source, std::span<const std::size_t> send_bytes,
                         void* destination, std::span<const std::size_t> receive_bytes);

  /// The group will have no more collectives, until its members call one again. Waits until the others on the node have
  /// read what this rank gave them. Errors: peer_dead.
  Status release(const launch::Group& group);

  Status complete() override { return started_.complete(); }
  void before_client_ends() override { started_.stop(); }
  void append_counts(std::vector<OperationCount>& rows) const override;

 private:
  struct Membership : GroupNodes {
    /// Calls of a group with a root, one after the other, until its members meet.
    static constexpr std::uint32_t kMostInOneDirection = 64;

    std::vector<Rank> ranks;  ///< by place
    NodeMembership on_node;
    std::uint64_t calls = 0;             ///< so far; outlives a release
    std::uint32_t in_one_direction = 0;  ///< calls with a root, since one in which all waited for all

    /// Asked once for each call, in their order.
    bool meets_after(const Call& call) {
      in_one_direction = call.root < 0 ? 0 : in_one_direction + 1;
      if (in_one_direction < kMostInOneDirection) return false;
      in_one_direction = 0;
      return true;
    }
  };
  struct Counts {
    base::Count shared, shared_bytes, wire, wire_bytes, messages;
  };
  /// One call on its way.
  struct Turn {
    Membership* mine;
    Speakers all;
    std::uint32_t speaker;   ///< place on this node of the node's speaker
    std::uint64_t messages;  ///< sent to other nodes before
    std::size_t bytes;

    NodeMembership& on_node() const { return mine->on_node; }
    bool speaks() const { return on_node().place == speaker; }
    const Call& call() const { return all.call; }
  };

  Result<Membership*> membership(const launch::Group& group);
  void fill(const launch::Group& group, Membership& mine) const;
  /// `root`: its place in the group; it is its node's speaker. `bytes` of this rank's, for the statistics.
  Result<Turn> begin(const launch::Group& group, const Call& call, std::size_t bytes,
                     std::optional<std::size_t> root = {});
  Status end(Turn& turn);
  Status join(Turn& turn, const Reduction& reduction, const void* source, void* destination, std::size_t count,
              std::optional<std::size_t> root);
  Status gather_nodes(Turn& turn, const void* source, std::byte* destination, std::size_t bytes);
  /// Of a call that is started, how the group lies on the nodes.
  Membership& members_of(const launch::Group& group);
  /// `bytes` of this rank's, for the statistics. `start` has what the caller gave, and the schedule.
  Started start(const launch::Group& group, Membership& mine, const Call& call, std::size_t bytes, CallStart start);
  /// Sent to other nodes so far, by blocking calls.
  std::uint64_t messages() const { return letters_.messages() + long_data_.put_messages(); }
  Counts& counts_of(CallKind kind) { return counts_[static_cast<std::size_t>(kind)]; }
  void count(const Membership& mine, CallKind kind, std::size_t bytes);

  launch::Launch& launch_;
  exchange::Letters& letters_;
  NodeWords words_;
  NodePart node_;
  const std::uint64_t gather_bytes_;
  LongData long_data_;
  BetweenNodes between_;
  std::map<std::uint64_t, Membership> memberships_;  ///< by the group's key
  Membership* world_ = nullptr;                      ///< once it has been used
  const std::uint64_t world_key_;
  Counts counts_[6];  ///< by CallKind
  StartedCalls started_;
};

}  // namespace grapnel::collective
