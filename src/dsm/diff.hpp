// What changed in a page against its twin, and how it is put into another copy.
//
//   diff := u64 lines            bit i: line i of 64 bytes has changes
//           u64 bytes  per line  bit j: byte j of the line has changed
//           byte …               the changed bytes, in order
//
// A page is at most kMostDiffBytes: 17 bytes where one byte changed, 4,616 where all did.
//
// Pages are written by programs while they are compared. So each place is loaded once (invariant 4 of docs/dsm.md):
// what was compared is what is sent and what becomes the twin. And only bytes that differ are written to a page: its
// neighbours may be another rank's.
//
// Source: treadmarks-on-gm, section 2.3; merge by comparison with the twin: R. Stets et al., "Cashmere-2L", SOSP 1997.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dsm/changes.hpp"
#include "grapnel/types.hpp"
#include "os/page_trap.hpp"

namespace grapnel::dsm {

inline constexpr std::size_t kMostDiffBytes = sizeof(std::uint64_t) * (1 + kLines) + os::kPageBytes;

/// Writes the diff of `page` against `twin` to `out`, which has room for kMostDiffBytes; the twin becomes what was seen
/// of the page. Returns the diff's length; 0: nothing differs.
std::size_t make_diff(const std::byte* page, std::byte* twin, std::byte* out);

/// Whether a page differs from its twin at this moment.
bool differs(const std::byte* page, const std::byte* twin);

/// Whether that is a diff, and of that length.
bool is_diff(ByteView diff);
/// Puts the changed bytes into a page at its home. `diff` is one.
void apply_diff(std::byte* page, ByteView diff);

/// A home's answer into a copy: where it differs from the twin, into page and twin; nothing else of the page is
/// written.
void merge(std::byte* page, std::byte* twin, const std::byte* answer);

/// A page as it is at some moment, line by line.
void copy_page(std::byte* to, const std::byte* page);

/// An answer into a page without a copy.
void fill(std::byte* page, std::byte* twin, const std::byte* answer);

}  // namespace grapnel::dsm
