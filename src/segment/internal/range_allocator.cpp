// SPDX-License-Identifier: Apache-2.0
#include "segment/internal/range_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/check.hpp"
#include "base/units.hpp"

namespace grapnel::segment {
namespace {

// 2 MiB of bitmap at most. A pool of more granules than that (1 TiB) is handed out in multiples of the granule.
constexpr std::size_t kMaxGranules = std::size_t{1} << 24;
constexpr std::size_t kBitsPerWord = 64;
constexpr std::uint64_t kAllBits = ~std::uint64_t{0};

std::size_t granule_for(std::size_t pool_bytes) {
  std::size_t granule = os::kPoolGranuleBytes;
  while (pool_bytes / granule > kMaxGranules) granule *= 2;
  return granule;
}

// The node's bitmap; a set bit is a taken granule.
class Bitmap {
 public:
  explicit Bitmap(std::span<std::uint64_t> words) : words_(words) {}

  /// The first bit at or behind `from` that is set (or clear), `end` where there is none before.
  std::size_t next(bool set, std::size_t from, std::size_t end) const {
    while (from < end) {
      const std::uint64_t word = words_[from / kBitsPerWord];
      const std::uint64_t wanted = (set ? word : ~word) >> (from % kBitsPerWord);
      if (wanted != 0) return std::min(end, from + static_cast<std::size_t>(std::countr_zero(wanted)));
      from = (from / kBitsPerWord + 1) * kBitsPerWord;
    }
    return end;
  }

  /// A run of `count` clear bits that begins in [from, end) and ends before `end`.
  std::optional<std::size_t> find_clear_run(std::size_t from, std::size_t end, std::size_t count) const {
    while (true) {
      const std::size_t begin = next(false, from, end);
      if (end - begin < count) return std::nullopt;
      const std::size_t stop = next(true, begin, begin + count);
      if (stop == begin + count) return begin;
      from = stop;
    }
  }

  std::size_t longest_clear_run(std::size_t end) const {
    std::size_t longest = 0;
    for (std::size_t begin = next(false, 0, end); begin < end;) {
      const std::size_t stop = next(true, begin, end);
      longest = std::max(longest, stop - begin);
      begin = next(false, stop, end);
    }
    return longest;
  }

  void assign(std::size_t from, std::size_t count, bool set) {
    for (const std::size_t end = from + count; from < end;) {
      const std::size_t first = from % kBitsPerWord;
      const std::size_t bits = std::min(end - from, kBitsPerWord - first);
      const std::uint64_t mask = (bits == kBitsPerWord ? kAllBits : (std::uint64_t{1} << bits) - 1) << first;
      std::uint64_t& word = words_[from / kBitsPerWord];
      word = set ? word | mask : word & ~mask;
      from += bits;
    }
  }

 private:
  std::span<std::uint64_t> words_;
};

}  // namespace

std::size_t RangeAllocator::node_memory_bytes() { return sizeof(Shared) + kMaxGranules / 8; }

RangeAllocator::RangeAllocator(launch::Launch& launch, os::Host& host)
    : granule_bytes_(granule_for(launch.pool().bytes())),
      granules_(launch.pool().bytes() / granule_bytes_),
      shared_(launch.node_memory().carve<Shared>(1).front()),
      words_(launch.node_memory().carve<std::uint64_t>(base::divide_up(granules_, kBitsPerWord))),
      mutex_(launch, host, shared_.lock) {}

Result<std::size_t> RangeAllocator::allocate(std::size_t bytes) {
  GRAPNEL_CHECK(bytes > 0, "an empty range");
  const std::size_t count = base::divide_up(bytes, granule_bytes_);
  const auto guard = mutex_.lock();
  if (!guard) return guard.status();
  Bitmap bitmap(words_);
  const std::size_t cursor = shared_.cursor < granules_ ? shared_.cursor : 0;
  auto found = bitmap.find_clear_run(cursor, granules_, count);
  if (!found) found = bitmap.find_clear_run(0, std::min(granules_, cursor + count), count);
  if (!found) {
    return Status(
        Code::no_memory,
        fmt::format("no {} bytes of addresses in one piece: the longest free range of the node's {} bytes has "
                    "{}; raise GRAPNEL_POOL_BYTES or free something",
                    bytes, granules_ * granule_bytes_, bitmap.longest_clear_run(granules_) * granule_bytes_));
  }
  bitmap.assign(*found, count, true);
  shared_.cursor = *found + count;
  return *found * granule_bytes_;
}

Status RangeAllocator::free(std::size_t offset, std::size_t bytes) {
  const std::size_t first = offset / granule_bytes_;
  const std::size_t count = base::divide_up(bytes, granule_bytes_);
  const auto guard = mutex_.lock();
  if (!guard) return guard.status();
  Bitmap bitmap(words_);
  GRAPNEL_CHECK(offset % granule_bytes_ == 0 && first + count <= granules_ &&
                    bitmap.next(false, first, first + count) == first + count,
                "[{:#x}, +{:#x}) is not taken", offset, bytes);
  bitmap.assign(first, count, false);
  return {};
}

}  // namespace grapnel::segment
