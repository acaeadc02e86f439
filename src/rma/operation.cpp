#include "rma/operation.hpp"

namespace grapnel {

rma::Operation& HandleTable::of(Handle& handle) {
  if (handle.id_ == 0) {
    if (free_.empty()) {
      operations_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(operations_.size()));
    }
    handle.id_ = free_.back();
    free_.pop_back();
  }
  return operations_[handle.id_ - 1];
}

rma::Operation* HandleTable::find(const Handle& handle) {
  return handle.id_ == 0 || handle.id_ > operations_.size() ? nullptr : &operations_[handle.id_ - 1];
}

void HandleTable::release(Handle& handle) {
  operations_[handle.id_ - 1] = rma::Operation{};
  free_.push_back(handle.id_);
  handle.id_ = 0;
}

}  // namespace grapnel
