// SPDX-License-Identifier: Apache-2.0
#include "collective/shown_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace grapnel::collective {

ShownMemory::Block ShownMemory::take_kept(std::size_t bytes) {
  const auto fits = [bytes](const Block& block) { return block.bytes >= bytes && block.bytes / 4 <= bytes; };
  const auto found = std::find_if(kept_.begin(), kept_.end(), fits);
  if (found == kept_.end()) return {};
  const Block block = *found;
  kept_.erase(found);
  return block;
}

Result<ShownMemory::Block> ShownMemory::take(std::size_t bytes) {
  std::vector<Block> surplus;
  {
    const base::MutexLock lock(mutex_);
    if (const Block block = take_kept(bytes); block.begin != nullptr) return block;
    std::size_t kept_bytes = 0;
    for (const Block& block : kept_) kept_bytes += block.bytes;
    if (kept_bytes > kMostKeptBytes) surplus = std::exchange(kept_, {});
  }
  for (const Block& block : surplus) GRAPNEL_TRY(segments_.free(block.begin));
  const std::size_t enough = std::bit_ceil(bytes);
  GRAPNEL_ASSIGN_OR_RETURN(std::byte* const begin, segments_.allocate(enough));
  return Block{begin, enough};
}

void ShownMemory::give_back(Block block) {
  GRAPNEL_ASSERT(block.begin != nullptr, "no block, of {} bytes, is given back", block.bytes);
  const base::MutexLock lock(mutex_);
  kept_.push_back(block);
}

CallMemory& CallMemory::operator=(CallMemory&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  owner_ = std::exchange(other.owner_, nullptr);
  block_ = std::exchange(other.block_, {});
  own_ = std::move(other.own_);
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

void CallMemory::leave_segment() {
  if (!is_shown()) return;
  CallMemory own(size());
  std::memcpy(own.data(), data(), size());
  *this = std::move(own);
}

void CallMemory::give_back() {
  if (owner_ != nullptr) owner_->give_back(block_);
  owner_ = nullptr;
}

}  // namespace grapnel::collective
