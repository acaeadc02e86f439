// How elements are shared out among ranks or nodes, each of which joins a run of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace grapnel::collective {

/// Where run `i` of `parts` begins among `count` elements; their lengths differ by one at most. Run `parts` begins at
/// the end.
constexpr std::size_t run_begin(std::size_t count, std::size_t parts, std::size_t i) { return count * i / parts; }

}  // namespace grapnel::collective
