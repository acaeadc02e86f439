// Virtual nodes as machines of one processor: what a node's server takes is then taken from its own ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace grapnel::bench {

/// Binds all threads of this process, the server's with them, and those that they start, to one of the processors it
/// may use: the `number`-th, counted around. Any failure ends the process.
void bind_to_processor(std::size_t number);

}  // namespace grapnel::bench
