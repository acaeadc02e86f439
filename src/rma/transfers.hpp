// What a call asks of Rma: the bytes on both sides, the target, and what becomes of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "grapnel/element.hpp"
#include "grapnel/handle.hpp"
#include "grapnel/shape.hpp"
#include "grapnel/types.hpp"
#include "rma/counts.hpp"
#include "rma/messages.hpp"
#include "rma/parts.hpp"

namespace grapnel::rma {

/// Contiguous, strided, in pieces; `kind` is the direction. `arithmetic` is for accumulate. `lent`: `remote` is memory
/// that the target has lent (segment/lent.hpp); an accumulate is an invalid argument there, an update does the same.
struct ContiguousTransfer {
  OperationKind kind{};
  Arithmetic arithmetic;
  void* local = nullptr;
  void* remote = nullptr;
  std::size_t bytes = 0;
  Rank target{};
  bool lent = false;
};
struct StridedTransfer {
  OperationKind kind{};
  Arithmetic arithmetic;
  void* local = nullptr;
  const Strided* local_shape = nullptr;
  void* remote = nullptr;
  const Strided* remote_shape = nullptr;
  Rank target{};
  bool lent = false;
};
struct VectorTransfer {
  OperationKind kind{};
  Arithmetic arithmetic;
  std::span<const Piece> pieces;
  Rank target{};
  bool lent = false;
};

/// update.cpp. `local`: the operands; null for Operation::none. `old_elements` null: none are fetched.
struct UpdateTransfer {
  static constexpr OperationKind kind = OperationKind::update;
  Update update;
  Reduction kernel;
  void* local = nullptr;
  void* old_elements = nullptr;
  void* remote = nullptr;
  std::size_t bytes = 0;
  Rank target{};
  bool lent = false;
};

/// parts.cpp. Sides of equal counts, of whole elements; `local` null for Operation::none, `old_elements` null: none
/// are fetched. Elements of parts that overlap are updated one after the other.
struct StridedUpdate {
  grapnel::Operation operation{};
  NumberType number{};
  const void* local = nullptr;
  const Strided* local_shape = nullptr;
  void* old_elements = nullptr;
  const Strided* old_shape = nullptr;
  void* remote = nullptr;
  const Strided* remote_shape = nullptr;
  Rank target{};
  bool lent = false;
};
struct VectorUpdate {
  grapnel::Operation operation{};
  NumberType number{};
  bool fetches = false;         ///< every part has a destination
  std::span<const Part> parts;  ///< of whole elements; without sources for Operation::none
  Rank target{};
  bool lent = false;
};

/// update.cpp. `bytes` (1, 2, 4 or 8) at the front of `desired` replace those at `remote` where they are the front of
/// `expected`. Completes as a get of the old ones to `old_value`.
struct CompareTransfer {
  static constexpr OperationKind kind = OperationKind::update;
  void* remote = nullptr;
  std::uint64_t expected = 0, desired = 0;
  void* old_value = nullptr;
  std::size_t bytes = 0;
  Rank target{};
  bool lent = false;
};

/// A put, then `value` at `flag` (32 bits, aligned) of the same target: a rank that sees it finds the data there.
struct SignalledPut : StridedTransfer {
  void* flag = nullptr;
  std::int32_t value = 0;
};

/// One level of repetition, the patch of a matrix, as numbers: to write, validate and read back two shapes costs more
/// than a small patch.
struct Rows {
  std::int64_t bytes = 0, count = 0;  ///< of a row; how many
  std::int64_t local_stride = 0, remote_stride = 0;

  /// Not empty, not backward, no product that overflows, and not all in one piece.
  bool are_plain() const {
    const bool small = ((bytes | count | local_stride | remote_stride) >> 31) == 0;
    return small && bytes > 0 && count > 0 && (local_stride != bytes || remote_stride != bytes);
  }
  std::size_t remote_extent() const { return static_cast<std::size_t>(remote_stride * (count - 1) + bytes); }
  std::size_t total_bytes() const { return static_cast<std::size_t>(count * bytes); }
};

}  // namespace grapnel::rma
