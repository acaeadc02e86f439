// A transfer as contiguous parts. Updates of strided and vector shapes, and all transfers with lent memory, are carried
// out as such.
//
// Threads: any, each its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "grapnel/reduction.hpp"
#include "grapnel/shape.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "rma/counts.hpp"
#include "rma/messages.hpp"

namespace grapnel::rma {

struct Part {
  const void* source = nullptr;  ///< a put's data, an update's operands; null: none
  void* destination = nullptr;   ///< for a get's data, for an update's old elements; null: none
  void* remote = nullptr;
  std::size_t bytes = 0;
};

/// Parts come in batches, so that a shape of many rows takes little memory. A full one is as many parts as a chunk has
/// bytes: equal parts then fill whole messages.
struct PartsTransfer {
  using Visit = std::function<Status(std::span<const Part> parts, bool last)>;

  OperationKind kind{};
  Update update;     ///< of an update, as the kernel
  Reduction kernel;  ///< its element is a byte for put and get
  bool fetches = false;
  bool lent = false;
  Rank target{};
  std::size_t bytes = 0;  ///< all parts together
  /// Calls `visit` with every batch, in order, until it fails; nothing where there are no parts.
  std::function<Status(const Visit& visit)> batches;
};

}  // namespace grapnel::rma
