// SPDX-License-Identifier: Apache-2.0
#include "dsm/diff.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "dsm/changed_bytes.hpp"
#include "dsm/changes.hpp"
#include "dsm/planted.hpp"
#include "dsm/shared_page.hpp"

namespace grapnel::dsm {
namespace {

// Two words in one load: volatile, so that the compiler does not repeat it.
using Part = std::uint64_t __attribute__((vector_size(16)));
constexpr std::size_t kParts = kLineBytes / sizeof(Part);
struct Parts {
  Part part[kParts];
};

GRAPNEL_SHARED_PAGE inline Parts load_parts(const std::byte* at) {
  Parts parts;
  for (std::size_t i = 0; i < kParts; ++i) parts.part[i] = reinterpret_cast<const volatile Part*>(at)[i];
  return parts;
}

inline bool equal(const Parts& a, const Parts& b) {
  Part any = a.part[0] ^ b.part[0];
  for (std::size_t i = 1; i < kParts; ++i) any |= a.part[i] ^ b.part[i];
  return (any[0] | any[1]) == 0;
}

std::uint64_t word_at(ByteView diff, std::size_t index) {
  std::uint64_t word;
  std::memcpy(&word, diff.data() + index * sizeof word, sizeof word);
  return word;
}

}  // namespace

// The changed bytes are taken from the twin, the one copy of what was seen.
std::size_t make_diff(const std::byte* page, std::byte* twin, std::byte* out) {
  Changes changes;
  find_changes(page, twin, changes);
  if (changes.lines == 0) return 0;
  std::memcpy(out, &changes.lines, sizeof changes.lines);
  std::memcpy(out + sizeof changes.lines, changes.bytes.data(), changes.count * sizeof changes.bytes[0]);
  std::byte* const end = gather(out + sizeof changes.lines * (1 + changes.count), twin, changes);
  const auto length = static_cast<std::size_t>(end - out);
  GRAPNEL_ASSERT(length <= kMostDiffBytes, "a diff of {} bytes; one has {} at most", length, kMostDiffBytes);
  return length;
}

bool differs(const std::byte* page, const std::byte* twin) {
  for (std::size_t i = 0; i < kLines; ++i) {
    // Another rank may bring the twin up to date at this moment.
    if (!equal(load_parts(page + i * kLineBytes), load_parts(twin + i * kLineBytes))) return true;
  }
  return false;
}

bool is_diff(ByteView diff) {
  if (diff.size() < sizeof(std::uint64_t)) return false;
  const auto count = static_cast<std::size_t>(std::popcount(word_at(diff, 0)));
  const std::size_t head = sizeof(std::uint64_t) * (1 + count);
  if (diff.size() < head) return false;
  return diff.size() == head + changed_count(diff.data() + sizeof(std::uint64_t), count);
}

void apply_diff(std::byte* page, ByteView diff) {
  Changes changes;
  changes.lines = word_at(diff, 0);
  changes.count = static_cast<std::size_t>(std::popcount(changes.lines));
  const std::byte* const bytes = diff.data() + sizeof changes.lines;
  const std::size_t length = changes.count * sizeof changes.bytes[0];
  std::memcpy(changes.bytes.data(), bytes, length);
  scatter(page, bytes + length, changes);
}

void merge(std::byte* page, std::byte* twin, const std::byte* answer) {
  if (planted(Bug::merge_overwrites)) return fill(page, twin, answer);
  std::array<std::byte, os::kPageBytes> before;
  if (planted(Bug::twin_not_updated)) std::memcpy(before.data(), twin, before.size());
  Changes changes;
  find_changes(answer, twin, changes);
  place(page, twin, changes);
  if (planted(Bug::twin_not_updated)) std::memcpy(twin, before.data(), before.size());
}

void copy_page(std::byte* to, const std::byte* page) {
  for (std::size_t at = 0; at < os::kPageBytes; at += kLineBytes) {
    const Parts parts = load_parts(page + at);
    std::memcpy(to + at, parts.part, kLineBytes);
  }
}

void fill(std::byte* page, std::byte* twin, const std::byte* answer) {
  std::memcpy(page, answer, os::kPageBytes);
  std::memcpy(twin, answer, os::kPageBytes);
}

}  // namespace grapnel::dsm
