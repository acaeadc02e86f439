// For tests: one rank goes on when another has come so far.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {

/// Reads the word of `rank` now and then, until it is `least` or more. It is read by an atomic operation, as the rank
/// changes it by others: a get copies bytes.
inline void await_word(Runtime& g, void* word, std::int64_t least, Rank rank) {
  os::Word never{0};
  for (std::int64_t seen = 0; seen < least;) {
    const auto read = g.fetch_and_add(word, 0, Width::bits64, rank);
    ASSERT_OK(read.status());
    seen = *read;
    g.implementation().host->wait(never, 0, 100 * base::kMicrosecond_ns);
  }
}

}  // namespace grapnel::test
