// A native atomic under way: what UCT calls back with, where it puts the old value, and the caller's completion.
//
// Threads: the owning worker's.
// Invariant: operations never move; one is in the free list or held by UCT, or has ended and is about to be reported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "transport/transport.hpp"

namespace grapnel::transport::ucx {

class UcxWorker;
struct Path;

struct AtomicOperation {
  uct_completion_t ended{};  ///< first, so that its address is the operation's
  std::uint64_t result = 0;
  std::uint64_t* old_value = nullptr;
  Completion completion;
  UcxWorker* worker = nullptr;
  const Path* path = nullptr;
  bool in_use = false;
  bool abandoned = false;  ///< its end was reported when the path failed; UCT still has it
};

class AtomicPool {
 public:
  AtomicOperation& acquire() {
    if (free_.empty()) free_.push_back(&all_.emplace_back());
    AtomicOperation& operation = *free_.back();
    free_.pop_back();
    operation.in_use = true;
    operation.abandoned = false;
    ++under_way_;
    return operation;
  }
  void release(AtomicOperation& operation) {
    operation.in_use = false;
    --under_way_;
    free_.push_back(&operation);
  }
  std::size_t under_way() const { return under_way_; }
  template <typename Visitor>
  void for_each_in_use(Visitor visit) {
    for (AtomicOperation& operation : all_) {
      if (operation.in_use) visit(operation);
    }
  }

 private:
  std::deque<AtomicOperation> all_;
  std::vector<AtomicOperation*> free_;
  std::size_t under_way_ = 0;
};

}  // namespace grapnel::transport::ucx
