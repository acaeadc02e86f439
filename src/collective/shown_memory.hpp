// Memory of started calls that the other ranks of the node read: in a node the receiver of a long message copies it
// from where its sender has it. Blocks of segments of this rank's own, kept for the next calls.
//
// Threads: `take` as `start`, one at a time; `give_back` any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"
#include "collective/own_segments.hpp"
#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::collective {

class ShownMemory {
 public:
  /// Of blocks that no call has: where they are more and none fits, `take` frees them.
  static constexpr std::size_t kMostKeptBytes = 32 * base::kMiB;

  struct Block {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };

  explicit ShownMemory(core::Core& core) : segments_(core) {}

  /// At least so many bytes, with what is left in them. Errors: no_memory.
  Result<Block> take(std::size_t bytes);
  void give_back(Block block);

 private:
  /// A kept block that is not much too large.
  Block take_kept(std::size_t bytes) GRAPNEL_REQUIRES(mutex_);

  OwnSegments segments_;
  base::Mutex mutex_;
  std::vector<Block> kept_ GRAPNEL_GUARDED_BY(mutex_);
};

/// The memory of one call: shown, or its own.
class CallMemory {
 public:
  CallMemory() = default;
  explicit CallMemory(std::size_t bytes)
      : own_(std::make_unique_for_overwrite<std::byte[]>(bytes)), bytes_(own_.get(), bytes) {}
  CallMemory(std::shared_ptr<ShownMemory> owner, ShownMemory::Block block, std::size_t bytes)
      : owner_(std::move(owner)), block_(block), bytes_(block.begin, bytes) {
    GRAPNEL_ASSERT(bytes <= block.bytes, "a call of {} bytes in a block of {}", bytes, block.bytes);
  }
  ~CallMemory() { give_back(); }
  CallMemory(CallMemory&& other) noexcept { *this = std::move(other); }
  CallMemory& operator=(CallMemory&& other) noexcept;

  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  bool is_shown() const { return owner_ != nullptr; }
  /// The same content in memory of its own: segments end with the runtime.
  void leave_segment();

 private:
  void give_back();

  std::shared_ptr<ShownMemory> owner_;
  ShownMemory::Block block_;
  std::unique_ptr<std::byte[]> own_;
  ByteSpan bytes_;
};

}  // namespace grapnel::collective
