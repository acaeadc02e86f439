// The operations that a self-test tries between a rank and its target: what each does, and what must be in memory then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "selftest/scene.hpp"

namespace grapnel::tool::selftest {

struct TriedOperation {
  const char* name;
  const char* kind;       ///< in the table of protocols; null: none
  const char* form;       ///< the same
  std::size_t row_bytes;  ///< the same
  std::size_t bytes;      ///< what one of them moves
  /// All ranks call it; one without a target, or an origin, leaves that part out. Errors: also bytes that are wrong.
  Status (*act)(Scene& scene);
  /// What the origin's `act` has made of the slot, which is ground of `owner`; null: it changes nothing.
  void (*expect)(Rank origin, Rank owner, std::byte* slot);
  /// One operation of rank 0, complete at the target, for the clock.
  Status (*once)(Scene& scene);
  /// The target takes part in `once`, as often.
  bool both_sides = false;
};

std::span<const TriedOperation> operations();

}  // namespace grapnel::tool::selftest
