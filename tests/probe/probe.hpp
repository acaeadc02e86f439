// The smallest service: one setting, one handler, one word of node memory, one counter.
//
// A ping adds the sender's step to the sum of a node. It is a write: a barrier completes it.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/count.hpp"
#include "core/core.hpp"

namespace grapnel::probe {

struct Settings {
  std::uint64_t step = 1;  ///< what a ping adds

  static const base::SettingsGroup& group();
};

class Probe final : public core::Service {
 public:
  Probe(core::Core& core, progress::HandlerId handler);

  /// Complete at the node after the next barrier. Errors: peer_dead, system.
  Status ping(NodeId node);
  /// Of this rank's node.
  std::uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  progress::HandlerId handler() const { return handler_; }

  void append_counts(std::vector<OperationCount>& rows) const override;

 private:
  launch::Launch& launch_;
  progress::Client* client_;
  const std::uint64_t step_;
  const progress::HandlerId handler_;
  std::atomic<std::uint64_t>& sum_;  ///< in node memory
  base::Count shared_, wire_;
};

extern const core::ServiceType kService;

}  // namespace grapnel::probe
