// Barriers that carry a payload: the payloads of all ranks are joined into one, and every rank gets it.
//
//   void add(grapnel::Bytes& into, grapnel::ByteView from);             // associative and commutative
//   const auto sum = g.add_combine(add).value();                        // collective, once
//   const grapnel::Bytes total = g.barrier_with(sum, mine).value();     // collective; a barrier like any other
//
// The payloads ride in the barrier's own messages: no message more, whatever the plan (docs/barrier.md). In a node the
// ranks join them, between nodes the servers do. Members of a barrier name the same function; this is not checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "grapnel/types.hpp"

namespace grapnel {

/// Joins a payload onto another, neither of them empty: associative and commutative. It runs in this process and in the
/// node leader's, in any thread, on payloads of any members; it waits for nothing and keeps nothing.
/// `into` becomes kMostBarrierPayload bytes at most. More, inside a node: invalid_argument for the rank whose payload
/// made it so; it has not arrived, and the others wait for it. More, between nodes: the job ends.
using Combine = void (*)(Bytes& into, ByteView from);

/// A function that joins, as all ranks know it.
enum class CombineId : std::uint32_t { none = 0 };

inline constexpr std::size_t kMostBarrierPayload = 4096;
inline constexpr std::size_t kMostCombines = 16;

}  // namespace grapnel
