// The acknowledgements of a rank's writes to other nodes, and the fence that waits for them: when it returns, the
// writes are complete there. The record of the writes is the client's (progress/client.hpp).
//
// A server counts the requests of an origin that it has applied and reports the count with every reply, so a fence asks
// only a node whose count, as far as it is known here, does not cover the last write. What it waits for is what was
// written up to its call; what other threads add in between is theirs to fence.
//
//   serial       ask one server, wait for its answer, ask the next: 2 messages and 2 delays per dirty node
//   overlapped   up to K questions at once, the next one as soon as an answer arrives; the first server asked is a
//                random one, so that the ranks of a job do not all ask the same: 2 messages per dirty node,
//                2⌈dirty/K⌉ delays
//
// Threads: with the client's guard held, all but `counts`.
// Source: thesis, section 3.1.1 (serial) and 3.1.2 (K requests at once, bounded by the buffers; randomised order).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "rma/counts.hpp"
#include "rma/internal/fence_predictor.hpp"
#include "rma/internal/native.hpp"
#include "rma/settings.hpp"

namespace grapnel::rma {

/// Where a rank's writes stood when it arrived at a barrier.
struct BarrierCut {
  std::uint32_t dirty = 0;                              ///< nodes that the plan had to fence, or has to complete
  std::vector<std::pair<NodeId, std::uint64_t>> until;  ///< those that the barrier has to complete, and up to where
};

class Fences {
 public:
  /// `client` is null in a job of one node, where nothing but `counts` is called; `native` where the transport has no
  /// native operations.
  Fences(const Settings& settings, const launch::Launch& launch, progress::Client* client, NativePath* native);

  /// What the write that is about to be sent asks of the server. The last message of the write is the next but
  /// ⌈bytes/chunk⌉, whose number is not known yet: `sent` notes it.
  progress::OnReply acknowledgement(NodeId node);
  void sent(NodeId node);

  /// All that was written to the nodes is complete there. Errors: refused, by the first fence that covers the write;
  /// peer_dead.
  Status fence(const std::vector<NodeId>& nodes);
  /// All that was written to the node by messages is applied, or refused: a later fence reports that. Errors:
  /// peer_dead.
  Status wait_until_applied(NodeId node);

  /// Rma::before_barrier and after_barrier.
  Status before_barrier(const std::vector<std::uint8_t>& covered, bool fences, FenceKind kind, BarrierCut& cut);
  Status after_barrier(const BarrierCut& cut, bool ask);

  const FenceCounts& counts() const { return progress_.counts; }

 private:
  struct Acknowledgements {
    std::uint64_t asked_until = 0;  ///< `Client::written` at the last write that asked for one
    bool asked = false;             ///< the write under way requests one
    std::uint32_t refused = 0;      ///< of those that asked; reported by the next fence
    FencePredictor predictor;
  };

  Status flush_native(const std::vector<NodeId>& nodes);
  Status fence_messages(const std::vector<NodeId>& nodes, FenceKind kind);
  Status ask_for_counts(NodeId node, std::uint32_t window);
  Status wait_until_applied(const std::vector<NodeId>& nodes, FenceKind kind);
  Status take_refused(const std::vector<NodeId>& nodes);

  const Settings& settings_;
  progress::Client* const client_;
  NativePath* const native_;
  std::vector<Acknowledgements> acknowledgements_;  ///< by node
  base::Random random_;                             ///< which dirty node a fence asks first
  struct Progress {
    std::uint32_t unanswered = 0;
    FenceCounts counts;
  };
  Progress progress_;  ///< a member, so that late answers find it
};

}  // namespace grapnel::rma
