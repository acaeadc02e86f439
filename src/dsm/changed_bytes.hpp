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

/// Writes the changed bytes of `memory`, a page that no thread writes meanwhile, to `out`; the answer is their end. Up
/// to kLineBytes are written for each changed line, also where fewer have changed.
using Gather = std::byte* (*)(std::byte* out, const std::byte* memory, const Changes& changes);
/// Writes consecutive bytes into a page, to the places of `changes`.
using Scatter = void (*)(std::byte* page, const std::byte* bytes, const Changes& changes);
/// Writes the changed bytes of `memory`, which no thread writes meanwhile, into a page, to the same places.
using Place = void (*)(std::byte* page, const std::byte* memory, const Changes& changes);

struct ChangedBytesMethod {
  const char* name;
  Gather gather;
  Scatter scatter;
  Place place;
};

/// All that run on this processor, the best last; for tests and measurements.
std::span<const ChangedBytesMethod> changed_bytes_methods();

/// By the best one.
std::byte* gather(std::byte* out, const std::byte* memory, const Changes& changes);
void scatter(std::byte* page, const std::byte* bytes, const Changes& changes);
void place(std::byte* page, const std::byte* memory, const Changes& changes);

}  // namespace grapnel::dsm
