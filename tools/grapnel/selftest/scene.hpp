// The ranks of a self-test in pairs: each has a target and an origin, inside its node or in the next one, and a part of
// every rank's memory belongs to its origin alone.
//
// What is in that memory before an operation is `ground`; what an origin writes is `ink`. Both follow from the rank and
// the place, so that a byte that is out of place shows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "grapnel/runtime.hpp"

namespace grapnel::tool::selftest {

enum class Between { ranks_of_a_node, nodes };
const char* to_string(Between between);  ///< "inside a node", "between nodes"

inline constexpr std::size_t kBulkBytes = std::size_t{512} << 10;
inline constexpr std::size_t kSlotBytes = kBulkBytes + (std::size_t{64} << 10);

std::byte ground(Rank owner, std::size_t place);
std::byte ink(Rank origin, std::size_t place);

class Scene {
 public:
  /// `memory` has two slots, and `locks` two locks, in every rank.
  Scene(Runtime& runtime, const Memory& memory, LockSet locks, Between between);

  Runtime& runtime() { return runtime_; }
  LockSet& locks() { return locks_; }
  Between between() const { return between_; }
  /// Of the set, at home in every rank.
  int lock_index() const { return static_cast<int>(between_); }
  /// Nothing where there is no other rank in the node, no other node, or none left over there.
  std::optional<Rank> target() const { return target_; }
  std::optional<Rank> origin() const { return origin_; }

  std::byte* slot_of(Rank rank) const;
  std::byte* own_slot() const { return slot_of(runtime_.rank()); }
  /// kSlotBytes of ink of this rank; the second: room for what it gets.
  const std::byte* source() const { return source_.data(); }
  std::byte* room() { return room_.data(); }

  /// Fills the own slot with ground.
  void lay_ground();
  /// system, with the first byte that differs, or ok.
  Status compare(const std::byte* found, const std::byte* expected, std::size_t bytes, const char* what) const;

 private:
  Runtime& runtime_;
  const Memory memory_;
  LockSet locks_;
  const Between between_;
  std::optional<Rank> target_, origin_;
  Bytes source_, room_;
};

}  // namespace grapnel::tool::selftest
