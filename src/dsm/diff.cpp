// SPDX-License-Identifier: Apache-2.0
#include "dsm/diff.hpp"
#include "dsm/planted.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace grapnel::dsm {
namespace {

constexpr std::size_t kWords = kLineBytes / sizeof(std::uint64_t);
using Line = std::array<std::uint64_t, kWords>;

// The thread sanitizer is right that programs write these bytes at the same time; loads and stores of one place each
// are all that is needed.
#define GRAPNEL_SHARED_PAGE __attribute__((no_sanitize("thread")))

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

inline Line line_of(const Parts& parts) {
  Line line;
  std::memcpy(line.data(), parts.part, sizeof line);
  return line;
}

// Of memory that no other thread writes.
inline Line load_twin(const std::byte* at) {
  Line line;
  std::memcpy(line.data(), at, sizeof line);
  return line;
}

inline bool equal(const Line& a, const Line& b) {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kWords; ++i) any |= a[i] ^ b[i];
  return any == 0;
}

inline bool equal(const Parts& a, const Parts& b) {
  Part any = a.part[0] ^ b.part[0];
  for (std::size_t i = 1; i < kParts; ++i) any |= a.part[i] ^ b.part[i];
  return (any[0] | any[1]) == 0;
}

// A bit for each byte that is not 0.
inline std::uint64_t bytes_set(std::uint64_t word) {
  constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  const std::uint64_t high = (((word & kLow) + kLow) | word) & ~kLow;
  return (high >> 7) * 0x0102040810204080 >> 56;
}

inline std::uint64_t changed_bytes(const Line& a, const Line& b) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kWords; ++i) mask |= bytes_set(a[i] ^ b[i]) << (8 * i);
  return mask;
}

GRAPNEL_SHARED_PAGE inline void store_byte(std::byte* at, std::byte value) {
  __atomic_store_n(reinterpret_cast<std::uint8_t*>(at), static_cast<std::uint8_t>(value), __ATOMIC_RELAXED);
}

GRAPNEL_SHARED_PAGE inline void store_word(std::byte* at, const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), word, __ATOMIC_RELAXED);
}

// The bytes of `mask` from consecutive ones; whole words in one store.
GRAPNEL_SHARED_PAGE const std::byte* scatter(std::byte* line, std::uint64_t mask, const std::byte* from) {
  for (std::size_t i = 0; i < kWords; ++i, mask >>= 8) {
    if ((mask & 0xff) == 0xff) {
      store_word(line + 8 * i, from);
      from += 8;
      continue;
    }
    for (std::uint64_t bits = mask & 0xff; bits != 0; bits &= bits - 1) {
      store_byte(line + 8 * i + std::countr_zero(bits), *from++);
    }
  }
  return from;
}

std::byte* gather(std::byte* out, const Line& line, std::uint64_t mask) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(line.data());
  for (std::size_t i = 0; i < kWords; ++i, mask >>= 8) {
    if ((mask & 0xff) == 0xff) {
      std::memcpy(out, bytes + 8 * i, 8);
      out += 8;
      continue;
    }
    for (std::uint64_t bits = mask & 0xff; bits != 0; bits &= bits - 1) *out++ = bytes[8 * i + std::countr_zero(bits)];
  }
  return out;
}

std::uint64_t word_at(ByteView diff, std::size_t index) {
  std::uint64_t word;
  std::memcpy(&word, diff.data() + index * sizeof word, sizeof word);
  return word;
}

}  // namespace

std::size_t make_diff(const std::byte* page, std::byte* twin, std::byte* out) {
  std::uint64_t lines = 0;
  std::array<std::uint64_t, kLines> masks;
  std::array<std::byte, os::kPageBytes> content;
  std::byte* end = content.data();
  std::size_t count = 0;
  for (std::size_t i = 0; i < kLines; ++i) {
    const Parts parts = load_parts(page + i * kLineBytes);
    if (equal(parts, load_parts(twin + i * kLineBytes))) continue;
    const Line seen = line_of(parts), before = load_twin(twin + i * kLineBytes);
    lines |= std::uint64_t{1} << i;
    masks[count] = changed_bytes(seen, before);
    end = gather(end, seen, masks[count++]);
    std::memcpy(twin + i * kLineBytes, seen.data(), kLineBytes);
  }
  if (lines == 0) return 0;
  std::memcpy(out, &lines, sizeof lines);
  std::memcpy(out + sizeof lines, masks.data(), count * sizeof masks[0]);
  const auto bytes = static_cast<std::size_t>(end - content.data());
  std::memcpy(out + sizeof lines * (1 + count), content.data(), bytes);
  return sizeof lines * (1 + count) + bytes;
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
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<std::size_t>(std::popcount(word_at(diff, 1 + i)));
  return diff.size() == head + bytes;
}

void apply_diff(std::byte* page, ByteView diff) {
  const std::uint64_t lines = word_at(diff, 0);
  const std::byte* from = diff.data() + sizeof(std::uint64_t) * (1 + static_cast<std::size_t>(std::popcount(lines)));
  std::size_t next = 1;
  for (std::uint64_t left = lines; left != 0; left &= left - 1) {
    from = scatter(page + static_cast<std::size_t>(std::countr_zero(left)) * kLineBytes, word_at(diff, next++), from);
  }
}

void merge(std::byte* page, std::byte* twin, const std::byte* answer) {
  if (planted(Bug::merge_overwrites)) return fill(page, twin, answer);
  for (std::size_t i = 0; i < kLines; ++i) {
    const Line came = load_twin(answer + i * kLineBytes), before = load_twin(twin + i * kLineBytes);
    if (equal(came, before)) continue;
    const std::uint64_t mask = changed_bytes(came, before);
    Line changed;
    gather(reinterpret_cast<std::byte*>(changed.data()), came, mask);
    scatter(page + i * kLineBytes, mask, reinterpret_cast<const std::byte*>(changed.data()));
    if (!planted(Bug::twin_not_updated)) std::memcpy(twin + i * kLineBytes, came.data(), kLineBytes);
  }
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
