// The operations that rows between nodes repeat. Each is one that has taken effect at the target when it returns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pairs.hpp"
#include "session.hpp"

namespace grapnel::bench {

inline constexpr std::size_t kRowBytes = 512, kRows = 64, kStride = 1024;

/// What the operations read and write; outlives them.
struct Operands {
  Operands() : local(kRows * kStride) {}
  std::uint64_t word = 1;
  PageBuffer local;
};

Side get_8(Session& s, Operands& operands);
Side put_fence_8(Session& s, Operands& operands);
Side fetch_and_add(Session& s, Operands& operands);
Side accumulate_fence_4k(Session& s, Operands& operands);
Side put_fence_strided(Session& s, Operands& operands);
/// As many bytes as the strided one, in one piece.
Side put_fence_contiguous(Session& s, Operands& operands);

}  // namespace grapnel::bench
