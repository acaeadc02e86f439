// What is wrong with a collective call, found before anything is sent. Errors of all: invalid_argument.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collective/call.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"

namespace grapnel::collective {

Status check_buffer(const void* buffer, std::size_t bytes, const char* name);
/// The root's place.
Result<std::size_t> check_root(const launch::Group& group, Rank root);
Status check_reduction(const Reduction& reduction, std::size_t count);
/// Of an alltoall.
Status check_pieces(const launch::Group& group, const void* source, std::span<const std::size_t> send_bytes,
                    const void* destination, std::span<const std::size_t> receive_bytes);

inline Call reducing(CallKind kind, const Reduction& reduction, std::size_t count, int root) {
  return {kind, number_of(reduction), count, root};
}

}  // namespace grapnel::collective
