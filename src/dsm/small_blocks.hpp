// Blocks of less than a page, cut from 64 KiB of the heap that are one rank's own.
//
// A block has 16 bytes in front with its length, in the heap; the lists of free blocks are the rank's own memory. A
// rank that frees a block keeps it for its own small blocks, so no node is asked.
//
// Threads: one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace grapnel::dsm {

class SmallBlocks {
 public:
  static constexpr std::size_t kHeaderBytes = 16;
  static constexpr std::size_t kChunkBytes = 64 * 1024;
  static constexpr std::size_t kMostBytes = 4096 - kHeaderBytes;
  static constexpr std::uint64_t kMark = 0x67'7261'706e'656c00;  ///< in the header's upper bytes, above the class

  /// The class of blocks that hold `bytes`: 32 << class bytes, header included.
  static std::size_t class_of(std::size_t bytes) {
    const std::size_t whole = std::bit_ceil(std::max<std::size_t>(bytes + kHeaderBytes, 32));
    return static_cast<std::size_t>(std::countr_zero(whole)) - 5;
  }
  static std::size_t bytes_of(std::size_t size_class) { return std::size_t{32} << size_class; }
  static constexpr std::size_t kClasses = 8;  ///< 32 … 4,096

  /// A free block's offset in the heap, where there is one.
  std::optional<std::size_t> take(std::size_t size_class) {
    if (std::vector<std::size_t>& free = free_[size_class]; !free.empty()) {
      const std::size_t block = free.back();
      free.pop_back();
      return block;
    }
    if (chunk_left_ < bytes_of(size_class)) return std::nullopt;
    chunk_left_ -= bytes_of(size_class);
    return std::exchange(chunk_at_, chunk_at_ + bytes_of(size_class));
  }
  void give(std::size_t size_class, std::size_t block) { free_[size_class].push_back(block); }

  /// The next blocks come from here. What was left of the last chunk becomes free blocks.
  void use_chunk(std::size_t offset) {
    for (std::size_t size_class = kClasses; size_class-- > 0;) {
      for (; chunk_left_ >= bytes_of(size_class); chunk_left_ -= bytes_of(size_class)) {
        give(size_class, std::exchange(chunk_at_, chunk_at_ + bytes_of(size_class)));
      }
    }
    chunk_at_ = offset;
    chunk_left_ = kChunkBytes;
  }

 private:
  std::array<std::vector<std::size_t>, kClasses> free_;
  std::size_t chunk_at_ = 0, chunk_left_ = 0;
};

}  // namespace grapnel::dsm
