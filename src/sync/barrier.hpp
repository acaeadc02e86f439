// Fence and barrier in one, of the job or of a group: when it returns, every member has arrived and every put and
// accumulate that a member issued before is complete, wherever it went.
//
//   begin ─▶ what only the rank can do: flush its native puts, fence what the plan asks to fence
//         ─▶ arrive in node memory (barrier/words.hpp); the last of the node launches the wire's part, which the node's
//            server carries out (barrier/server.hpp): members that compute in between hold up no node
//   test, end ─▶ the gate of the node
//
// Plans, their messages and delays: barrier/plan.hpp. One server per node is on the wire. A group on one node needs no
// message: its last rank opens the gate.
//
// Split-phase: between `begin` and `end` a rank may do anything but begin the same group's barrier again. What it
// writes in between is not covered by this barrier; it is covered by the next one, which asks for its acknowledgement.
// Barriers of different groups may be under way at once, in any order.
//
// Threads: collective calls, from one thread of a rank at a time; others may put and get at the same time.
// Cost: same node: one atomic to arrive, one line to leave. Source: thesis, chapter 4; design: plan.hpp, schedule.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/count.hpp"
#include "core/service.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "progress/write_counts.hpp"
#include "rma/rma.hpp"
#include "sync/barrier/plan.hpp"
#include "sync/barrier/server.hpp"
#include "sync/barrier/words.hpp"

namespace grapnel::sync {

/// What a rank gives to a barrier besides coming. All members name the same function.
struct Contribution {
  static constexpr std::size_t kMostBytes = PayloadArea::kMostBytes;
  std::uint32_t combine = 0;  ///< from `add_combine`; 0: this barrier carries nothing
  ByteView payload;           ///< kMostBytes at most; may be empty, and differ in length
};

extern const core::ServiceType kBarrierService;

struct BarrierCounts {
  base::Count shared, wire;  ///< barriers of one node, of several
};

class Barriers final : public core::Service {
 public:
  /// Collective in the order of carving.
  Barriers(core::Core& core, rma::Rma& rma);

  /// Makes the barriers of the whole job possible; before the server starts. Errors: peer_dead.
  Status open_world(const launch::Group& world);

  /// The function that joins two payloads, by number. The same ones in the same order in every rank, before the first
  /// barrier that carries one. It is called in this process or in the leader's, and keeps nothing. Errors: unavailable.
  Result<std::uint32_t> add_combine(Combine combine) { return combines_.add(combine); }

  /// `begin` and `end`. Errors: refused (a write of mine was; the barrier took place), unavailable (too many groups),
  /// peer_dead.
  Status run(const launch::Group& group, const Contribution& contribution = {});

  /// Arrives. Waits for what this rank has to flush or fence, never for another rank. Errors: invalid_argument (begun
  /// already; a payload too long), unavailable, peer_dead.
  Status begin(const launch::Group& group, const Contribution& contribution = {});
  /// Whether all have arrived and all is complete; then the barrier is over and `end` must not be called. Never
  /// sleeps. Errors: invalid_argument (not begun), refused.
  Result<bool> test(const launch::Group& group);
  /// Waits for that. Errors: as `test`; peer_dead.
  Status end(const launch::Group& group);
  /// What the last barrier joined; valid until the next `begin` of the group.
  ByteView joined(const launch::Group& group);

  /// The group will have no more barriers, until its members call one again. Collective in effect, but waits for no
  /// rank else. Its words are free once all members of the node have released it;
  /// those of all ranks stay. Errors: invalid_argument (under way).
  Status release(const launch::Group& group);

  void append_counts(std::vector<OperationCount>& rows) const override;
  const BarrierCounts& counts() const { return counts_; }
  /// Sent by this node's server, if this rank leads it.
  std::uint64_t messages() const { return server_part_ ? server_part_->messages() : 0; }
  /// The plan that the group's next barrier takes.
  BarrierPlan plan_of(const launch::Group& group);

 private:
  struct Membership {
    std::uint32_t number = 0;  ///< of the entry
    BarrierEntry* entry = nullptr;
    std::uint32_t local = 0;  ///< members on this node
    bool several_nodes = false;
    bool measures = false;            ///< this rank is the group's first on its node
    std::vector<std::uint8_t> nodes;  ///< by node: has members
    std::uint32_t done = 0;           ///< barriers, modulo 2³¹; outlives a release
    bool held = false;                ///< the entry is
    bool begun = false;
    BarrierPlan plan = kFirstPlan;
    std::uint64_t refused = 0;  ///< by all servers, when last heard
    rma::BarrierCut cut;
    Status fenced;
  };

  /// The gate's value after `barriers` of them.
  static std::uint32_t gate_count(const Membership& mine, std::uint32_t barriers) {
    return (mine.several_nodes ? barriers : barriers * mine.local) & progress::Gate::kCountMask;
  }

  Result<Membership*> membership(const launch::Group& group);
  /// The same, and its barrier has begun.
  Result<Membership*> begun(const launch::Group& group);
  Status join(const launch::Group& group, Membership& mine, const std::function<Status(std::uint32_t)>& on_new);
  Status tell_server(const launch::Group& group, std::uint32_t entry, bool ends);
  Status contribute(Membership& mine, const Contribution& contribution);
  /// All that is done before the arrival.
  Result<Membership*> prepare(const launch::Group& group, const Contribution& contribution);
  Status complete_own_writes(Membership& mine);
  /// Whether the server now has work.
  bool arrive(Membership& mine);
  /// `rings`: the server has work, and was not notified.
  Status wait_at_gate(const launch::Group& group, Membership& mine, bool rings = false);
  Status leave(Membership& mine);
  Status measure_delay();
  bool passed(const Membership& mine) const;

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  rma::Rma& rma_;
  progress::Client* client_;
  progress::Server* server_;
  std::optional<BarrierPlan> forced_;
  BarrierWords words_;
  Combines combines_;
  std::unique_ptr<BarrierServer> server_part_;
  std::map<std::uint64_t, Membership> memberships_;  ///< by the group's key
  Membership* world_ = nullptr;
  std::uint64_t world_key_ = 0;
  BarrierCounts counts_;
};

}  // namespace grapnel::sync
