// Native atomics of one simulated worker: posted to the adapters (SimNetwork::post), and their answers.
//
// Threads: that of the worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "transport/sim/sim_network.hpp"

namespace grapnel::transport::sim {

class AtomicQueue {
 public:
  AtomicQueue(SimNetwork& network, base::Random& random) : network_(network), random_(random) {}

  /// `old_value` is written, and the completion called, when the answer arrives. Errors: refused (the word is not
  /// registered).
  Result<Sent> start(Line& line, AdapterAtomic atomic, std::uint64_t* old_value, Completion completion,
                     std::uint64_t now_ns);
  bool progress(std::uint64_t now_ns);
  void fail(const Line& line, const Status& why);
  /// When `progress` has something to do.
  std::uint64_t next_due_ns() const;

 private:
  struct Pending {
    const Line* line;
    std::shared_ptr<AdapterAtomic> atomic;
    std::uint64_t* old_value;
    Completion completion;
    std::uint64_t due_ns;
  };

  SimNetwork& network_;
  base::Random& random_;
  std::vector<Pending> pending_;
};

}  // namespace grapnel::transport::sim
