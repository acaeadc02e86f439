// Whether a write should ask for its acknowledgement at once, because a fence will follow.
//
// A put and a fence cost two messages and an answer: the put, the fence's question, its answer. A put that asks by
// itself saves the question, which is a third of the time of an 8-byte put and fence; where no fence follows it costs
// an answer that was not needed. Programs do the same thing again and again, so each node's last interval between
// fences predicts the next: few writes then, few writes now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "grapnel/types.hpp"

namespace grapnel::rma {

class FencePredictor {
 public:
  /// More writes than this between two fences, and one question for all of them is cheaper.
  static constexpr std::uint32_t kFewWrites = 2;

  /// Counts a write; true when it should ask.
  bool next_write_asks() {
    ++writes_;
    if (writes_ > kFewWrites) fence_follows_ = false;
    return fence_follows_;
  }
  void fenced() {
    if (writes_ > 0) fence_follows_ = writes_ <= kFewWrites;
    writes_ = 0;
  }
  /// A barrier completes the writes without asking.
  void passed() {
    fence_follows_ = false;
    writes_ = 0;
  }

 private:
  std::uint32_t writes_ = 0;
  bool fence_follows_ = false;
};

}  // namespace grapnel::rma
