// The self-test's operations of all ranks at once: barrier, collectives, atomics by adapters, a target that computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grapnel/runtime.hpp"

namespace grapnel::tool::selftest {

/// Puts to the next rank, and a barrier after which it looks. `memory` has kWordsBytes in every rank.
Status try_barrier(Runtime& runtime, const Memory& memory);
/// A sum, a broadcast, an allgather, with numbers that each rank can compute.
Status try_collectives(Runtime& runtime);

/// Atomics of all ranks on a word of rank 0, and of each on its own. `memory`: of the network domain, a word in each.
Status try_network_words(Runtime& runtime, const Memory& memory);

/// One rank calls nothing until a word in its memory has counted all others, `limit_s` at most; the others put to it,
/// get from it, and count. Which: the leader of the last node, whose process hosts a server.
/// Answers, in that rank, how long it took; elsewhere 0.
Result<double> try_computing_target(Runtime& runtime, const Memory& memory, double limit_s);
Rank computing_target(const Runtime& runtime);

inline constexpr std::size_t kWordsBytes = 4096;

}  // namespace grapnel::tool::selftest
