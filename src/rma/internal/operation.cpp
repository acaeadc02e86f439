// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/operation.hpp"

namespace grapnel {

rma::Operation& HandleTable::of(Handle& handle) {
  if (rma::Operation* known = find(handle)) return *known;
  if (free_.empty()) {
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
  }
  handle.id_ = free_.back();
  free_.pop_back();
  Slot& slot = slots_[handle.id_ - 1];
  handle.generation_ = slot.generation;
  return slot.operation;
}

rma::Operation* HandleTable::find(const Handle& handle) {
  if (handle.id_ == 0 || handle.id_ > slots_.size()) return nullptr;
  Slot& slot = slots_[handle.id_ - 1];
  return slot.generation == handle.generation_ ? &slot.operation : nullptr;
}

void HandleTable::release(Handle& handle) {
  Slot& slot = slots_[handle.id_ - 1];
  slot.operation = rma::Operation{};
  ++slot.generation;
  free_.push_back(handle.id_);
  handle.id_ = 0;
}

std::size_t HandleTable::kept() const {
  std::size_t pieces = 0;
  for (const Slot& slot : slots_) {
    if (slot.operation.aggregate) pieces += slot.operation.aggregate->size();
  }
  return pieces;
}

}  // namespace grapnel
