// What is inside a public LockSet: the set as the layer below knows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "grapnel/lock_set.hpp"
#include "locks/lock_set.hpp"

namespace grapnel {

struct LockSetAccess {
  static LockSet wrap(std::shared_ptr<locks::Set> set) {
    LockSet handle;
    handle.set_ = std::move(set);
    return handle;
  }
  /// Null for the handle of no set.
  static const std::shared_ptr<locks::Set>& of(const LockSet& handle) { return handle.set_; }
};

}  // namespace grapnel
