// What an operation under way needs until UCX is through with it: a copy of the header, and whom to tell.
//
// Threads: one thread at a time, like the worker that owns the pool.
// Invariants: (1) a slot is either in the free list or held by exactly one operation; (2) slots never move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace grapnel::transport::ucx {

struct Path;

struct Operation {
  Completion completion;
  Path* path = nullptr;
  Status outcome;
  bool is_flush = false;
  std::uint64_t bulk_number = 0;  ///< of a bulk message on its path, from 1
  bool in_use = false;
  bool abandoned = false;  ///< its end was reported when the connection failed; UCX still has it
  std::array<std::byte, kMaxHeaderBytes> header;
};

class OperationPool {
 public:
  /// A slot; the pool grows when none is free, so its size is the most that was ever under way.
  Operation& acquire(Path& path, Completion completion) {
    if (free_.empty()) grow();
    Operation& operation = *free_.back();
    free_.pop_back();
    operation.completion = completion;
    operation.path = &path;
    operation.is_flush = false;
    operation.bulk_number = 0;
    operation.abandoned = false;
    operation.in_use = true;
    return operation;
  }

  void release(Operation& operation) {
    operation.in_use = false;
    operation.outcome = {};
    free_.push_back(&operation);
  }

  std::size_t in_use() const { return blocks_.size() * kBlockSlots - free_.size(); }

  /// Calls `visit` with every operation that is under way.
  template <typename Visitor>
  void for_each_in_use(Visitor visit) {
    for (auto& block : blocks_) {
      for (Operation& operation : *block) {
        if (operation.in_use) visit(operation);
      }
    }
  }

 private:
  static constexpr std::size_t kBlockSlots = 64;
  using Block = std::array<Operation, kBlockSlots>;

  void grow() {
    blocks_.push_back(std::make_unique<Block>());
    for (Operation& operation : *blocks_.back()) free_.push_back(&operation);
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Operation*> free_;
};

}  // namespace grapnel::transport::ucx
