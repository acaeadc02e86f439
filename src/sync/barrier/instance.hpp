// One barrier of one group, as one node's server sees it: which messages came, and how far it is.
//
// It begins with the first message of another node or with the launch by the last local rank, whichever is first,
// and proceeds whenever the message, or the applied write, that it waits for is there:
//
//   serial, few    first
//   clean          first ── all acknowledged? ── else: counts (exchange) ─ applied ─ last
//   exchange       counts (reduce-scatter) ─ applied ─ last
//   direct         counts (to all at once)      ─ applied ─ last
//   gather         counts (to the root and back) ─ applied ─ last (likewise)
//
// Invariants:
//  1. Nothing is sent before the launch: the node's part is complete.
//  2. The counts of writes that are summed do not change from a member's arrival to the gate
//     (progress/write_counts.hpp), so that "as many applied as counted" means all of them.
//  3. When it is over every message that other nodes will ever send for it has been taken.
//
// Threads: the server's.
// Source: thesis, section 4.3 and figure 4.2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "grapnel/barrier.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "sync/barrier/messages.hpp"
#include "sync/barrier/plan.hpp"
#include "sync/barrier/schedule.hpp"

namespace grapnel::sync {

/// A group as its barriers need it. Immutable.
struct BarrierMembers {
  std::vector<Rank> ranks;    ///< ascending
  std::vector<Rank> local;    ///< those of this node
  std::vector<NodeId> nodes;  ///< of the members, ascending
  std::uint32_t me = 0;       ///< this node's place in `nodes`
  std::uint32_t entry = 0;    ///< in node memory
  std::uint32_t crowd = 1;    ///< how many of `nodes` are on this machine
  std::vector<DisseminationRound> rounds;
  std::vector<std::uint32_t> distances;  ///< of the reduce-scatter
  GatherPlace gather;

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size()); }
};

/// Whether some plan has the server of that node send such a message to this one. due.cpp
bool is_due(const BarrierMembers& members, NodeId from, const BarrierBody& body, std::size_t payload_bytes);

/// What an instance needs of the server around it.
class BarrierHost {
 public:
  virtual void send(NodeId node, const BarrierBody& body, ByteView payload) = 0;
  /// Counted writes of the node's own members of the group to a node, up to their arrival.
  virtual std::uint64_t counted(const BarrierMembers& members, NodeId node) const = 0;
  /// Writes of all members that this node's server has applied.
  virtual std::uint64_t applied(const BarrierMembers& members) const = 0;
  /// Requests that this node's server has refused so far.
  virtual std::uint64_t refused() const = 0;
  /// Ends the job: of a barrier of this group came what cannot be, and its members would wait for ever or leave early.
  [[noreturn]] virtual void abort_job(std::uint64_t group, const std::string& why) const = 0;

 protected:
  ~BarrierHost() = default;
};

class BarrierInstance {
 public:
  BarrierInstance(BarrierHost& host, std::uint64_t group, std::uint32_t count)
      : host_(host), group_(group), count_(count) {}

  /// The node's ranks have arrived. `members` outlives the instance; `combine` may be null where no payload is.
  void launch(const BarrierMembers& members, BarrierPlan plan, const BarrierTotals& totals, Bytes payload,
              Combine combine);
  bool launched() const { return members_ != nullptr; }
  const BarrierMembers& members() const { return *members_; }

  /// Keeps a message of that node's server; false for one that no server sends. A second one in the place of another
  /// ends the job once the group is known.
  bool take(NodeId from, const BarrierBody& body, ByteView payload);
  /// What came before a rank of this node had named its group: who opened it, and how many bytes came from whom.
  std::optional<NodeId> opened_by;
  std::map<NodeId, std::size_t> early_bytes;

  /// Continues as far as it can; true when it is over.
  bool proceed();
  bool waits_for_writes() const { return launched() && stage_ == BarrierStage::applied; }

  const BarrierTotals& totals() const { return large_.totals; }
  const Bytes& payload() const { return payload_; }

 private:
  struct Sum {
    BarrierTotals totals;
    Bytes payload;
  };
  struct Message {
    BarrierBody body;
    Bytes payload;
  };
  using Tag = std::tuple<BarrierStage, std::uint32_t, NodeId>;  ///< stage, round, sender

  /// Null while it has not come.
  const Message* find(std::uint32_t round, std::uint32_t from) const;
  /// The same for a message of so many `numbers` of writes, which it must have.
  const Message* find(std::uint32_t round, std::uint32_t from, std::size_t numbers) const;
  /// `take` has looked at both lengths.
  static ByteView large_part(const Message& message) {
    return ByteView(message.payload).subspan(message.body.small_bytes);
  }
  NodeId node_at(std::uint32_t place) const { return members_->nodes[place % members_->size()]; }
  BarrierBody body(std::uint32_t round) const;
  void enter(BarrierStage stage);
  bool proceed_in_stage();
  BarrierStage stage_after() const;

  // dissemination.cpp
  bool disseminate();
  void send_sums(const DisseminationRound& round);
  bool all_came(const DisseminationRound& round) const;
  void add_sums(const DisseminationRound& round);
  void add(Sum& sum, const BarrierTotals& totals, ByteView payload) const;

  // counts.cpp
  static void add_numbers(std::span<std::uint64_t> sums, ByteView numbers);
  bool exchange_counts();
  bool tell_counts();

  // gather.cpp
  bool gather_counts();
  bool gather_sums();

  BarrierHost& host_;
  const std::uint64_t group_;
  const std::uint32_t count_;
  std::map<Tag, Message> inbox_;
  std::optional<NodeId> doubled_;  ///< sent two messages in one place
  const BarrierMembers* members_ = nullptr;
  BarrierPlan plan_{};
  Combine combine_ = nullptr;
  BarrierStage stage_ = BarrierStage::over;
  std::uint32_t round_ = 0;
  bool sent_ = false;                  ///< this round's messages
  bool carries_ = false;               ///< this dissemination carries the payload
  Sum small_, large_;                  ///< schedule.hpp
  BarrierTotals mine_;                 ///< the node's own
  Bytes payload_;                      ///< the node's own, then that of all
  std::uint32_t zero_ = 0;             ///< the place where `writes_` begins: this node's; in a gather the root's
  std::vector<std::uint64_t> writes_;  ///< counted ones to the node at place zero_ + index
  std::uint64_t awaited_ = 0;          ///< writes to be applied here
};

}  // namespace grapnel::sync
