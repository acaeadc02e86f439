// Moves the changed bytes of a page: out of it, one after the other, as a diff has them; and into a page, to the same
// places, where nothing beside them is written: its neighbours may be another rank's.
//
// A store covers as much as it can of what has changed, a word at least where all of a word has: a program that reads
// a word without a lock sees an old one or a new one. Beside portable code, which goes word by word, there is code for
// AVX-512, which goes line by line: the bytes of a line are compressed and expanded by one instruction each. It pays
// where part of each word has changed, as in numbers that converge (docs/kernels.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "dsm/changes.hpp"

namespace grapnel::dsm {

/// Copies the changed bytes of a page to `out`, one after the other, and returns their end. `memory`: the twin; no
/// thread writes it during the call. `out` has room for kLineBytes for each changed line: the call may write all of it.
using Gather = std::byte* (*)(std::byte* out, const std::byte* memory, const Changes& changes);
/// Copies consecutive bytes to the places in a page that `changes` names. Reads as many bytes as have changed.
using Scatter = void (*)(std::byte* page, const std::byte* bytes, const Changes& changes);
/// Copies the changed bytes of one page to the same places of another. No thread writes `memory` during the call.
using Place = void (*)(std::byte* page, const std::byte* memory, const Changes& changes);

/// How many bytes have changed, by the masks of `lines` changed lines, at any alignment; at most kLines.
using ChangedCount = std::size_t (*)(const std::byte* masks, std::size_t lines);

struct ChangedBytesMethod {
  const char* name;
  Gather gather;
  Scatter scatter;
  Place place;
  ChangedCount count;
};

/// All that run on this processor, the best last; for tests and measurements.
std::span<const ChangedBytesMethod> changed_bytes_methods();

/// By the best one.
std::byte* gather(std::byte* out, const std::byte* memory, const Changes& changes);
void scatter(std::byte* page, const std::byte* bytes, const Changes& changes);
void place(std::byte* page, const std::byte* memory, const Changes& changes);
std::size_t changed_count(const std::byte* masks, std::size_t lines);

}  // namespace grapnel::dsm
