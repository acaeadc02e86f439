// What a caller waits for: how many parts of its operation are still under way, and which node they went to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "grapnel/handle.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "rma/internal/aggregate.hpp"

namespace grapnel::rma {

struct Operation {
  std::uint32_t pending = 0;  ///< messages that still read our memory, or replies that still write it
  bool must_drain = false;    ///< something was sent since the last drain
  NodeId node{};              ///< where, when `must_drain` and not `several_nodes`
  bool several_nodes = false;
  Status failure;  ///< the first
  std::unique_ptr<Aggregate> aggregate;

  void sent_to(NodeId to) {
    several_nodes = several_nodes || (must_drain && to != node);
    must_drain = true;
    node = to;
  }
  void fail(Status why) {
    if (failure.ok()) failure = std::move(why);
  }
};

}  // namespace grapnel::rma

namespace grapnel {

/// The operations behind the handles, by number. Without limit; addresses stay.
class HandleTable {
 public:
  rma::Operation& of(Handle& handle);
  /// Null for a handle that nothing was started on, or a copy of one that was released.
  rma::Operation* find(const Handle& handle);
  static bool aggregates(const Handle& handle) { return handle.aggregates_; }
  /// Nothing was started on it, or all of that is complete. Looks at the handle alone.
  static bool is_new(const Handle& handle) { return handle.id_ == 0; }
  /// The handle is as new; its number may be used again.
  void release(Handle& handle);
  /// All operations behind handles; others may be added in between, and are met too.
  template <typename Visit>
  void for_each(Visit visit) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) visit(slots_[slot].operation);
  }
  /// How many puts and gets aggregates still keep.
  std::size_t kept() const;

 private:
  struct Slot {
    rma::Operation operation;
    std::uint32_t generation = 0;  ///< how often the number was released
  };
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace grapnel
