// How many operations and bytes went which way. Kept per rank, without locks: a store per count on the hot path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "base/count.hpp"

namespace grapnel::rma {

using base::Count;

enum class OperationKind { put, get, accumulate, update, rmw };
inline constexpr std::array kOperationKinds = {OperationKind::put, OperationKind::get, OperationKind::accumulate,
                                               OperationKind::update, OperationKind::rmw};

inline const char* to_string(OperationKind kind) {
  switch (kind) {
    case OperationKind::put: return "put";
    case OperationKind::get: return "get";
    case OperationKind::accumulate: return "accumulate";
    case OperationKind::update: return "update";
    case OperationKind::rmw: return "read-modify-write";
  }
  return "?";
}

struct OperationCounts {
  Count shared_operations, shared_bytes, wire_operations, wire_bytes, wire_messages;
};

/// Fences that had to ask, and what they sent and were sent: a question and an answer per dirty node.
struct FenceCounts {
  Count fences, messages;
};

}  // namespace grapnel::rma
