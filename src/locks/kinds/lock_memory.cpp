// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/lock_memory.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/random.hpp"
#include "base/units.hpp"

namespace grapnel::locks {

namespace {

// A rank is once in a lock's queue, and its place before that may not be free yet.
unsigned bits_of_records(std::size_t locks) {
  return static_cast<unsigned>(std::bit_width(std::min<std::size_t>(2 * locks, LockMemory::kMostRecords) - 1));
}

std::size_t lines_up(std::size_t bytes) { return base::round_up(bytes, LockMemory::kLineBytes); }

}  // namespace

LockMemory::LockMemory(const launch::Launch& launch, const launch::Group& group, int count, const Needs& needs)
    : count_(static_cast<std::size_t>(count)),
      room_bytes_(needs.payload_bytes == 0 ? 0 : lines_up(sizeof(std::uint32_t) + needs.payload_bytes)),
      stride_(kLineBytes + 3 * room_bytes_),
      capacity_(needs.lines == 0 ? 0 : std::bit_ceil(2 * needs.lines)),  // half empty, so that searches are short
      has_places_(needs.places),
      record_bits_(bits_of_records(count_ * group.size())),
      part_bytes_(holds_offset() + lines_up(count_ * group.size()) +
                  (needs.places ? lines_up(count_ * group.size() * kPlaceBytes) : 0) +
                  (needs.readers ? count_ * kLineBytes + lines_up(count_ * group.size() * sizeof(std::uint32_t)) : 0)),
      homes_(group.size()) {
  for (std::size_t place = 0; place < group.size(); ++place) {
    const Rank member = group.members[place];
    if (launch.nodes().node_of[index(member)] != launch.node()) continue;
    local_ranks_.push_back(member);
    local_places_.push_back(place);
  }
  me_ = static_cast<std::uint32_t>(std::find(local_ranks_.begin(), local_ranks_.end(), launch.rank()) -
                                   local_ranks_.begin());
}

std::size_t LockMemory::block_bytes() const {
  const std::size_t table = lines_up(capacity_ * (sizeof(std::uint64_t) + stride_));
  return kLineBytes + local_ranks_.size() * part_bytes_ + table;
}

void LockMemory::use_block(void* block) {
  block_ = static_cast<std::byte*>(block);
  first_part_ = block_ + kLineBytes;
  for (std::size_t local = 0; local < local_ranks_.size(); ++local) homes_[local_places_[local]] = part(local);
  lines_ = part(local_ranks_.size());  // before the keys, so that they keep their alignment
  keys_ = reinterpret_cast<std::atomic<std::uint64_t>*>(lines_ + capacity_ * stride_);
}

std::byte* LockMemory::look_up(std::uint64_t key, bool make) {
  if (capacity_ == 0) return nullptr;
  std::size_t position = base::Random(key).next() & (capacity_ - 1);
  for (std::size_t step = 0; step < capacity_; ++step, position = (position + 1) & (capacity_ - 1)) {
    std::uint64_t found = keys_[position].load();
    if (found == 0 && make && keys_[position].compare_exchange_strong(found, key)) found = key;
    if (found == key) return lines_ + position * stride_;
    if (found == 0) return nullptr;
  }
  return nullptr;
}

void LockMemory::keep_bytes(void* line, int room, ByteView payload) {
  std::byte* place = static_cast<std::byte*>(line) + kLineBytes + static_cast<std::size_t>(room) * room_bytes_;
  const auto bytes = static_cast<std::uint32_t>(std::min(payload.size(), room_bytes_ - sizeof(std::uint32_t)));
  std::memcpy(place, &bytes, sizeof bytes);
  if (bytes > 0) std::memcpy(place + sizeof bytes, payload.data(), bytes);
}

Bytes LockMemory::kept(const void* line, int room) const {
  const ByteView bytes = kept_in_place(line, room);
  return {bytes.begin(), bytes.end()};
}

ByteView LockMemory::kept_in_place(const void* line, int room) const {
  if (room_bytes_ == 0) return {};
  const std::byte* place =
      static_cast<const std::byte*>(line) + kLineBytes + static_cast<std::size_t>(room) * room_bytes_;
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, place, sizeof bytes);
  return {place + sizeof bytes, bytes};
}

std::uint32_t LockMemory::take_record(std::size_t hint) {
  for (std::uint32_t step = 0; step < records(); ++step) {
    const std::uint32_t number = (static_cast<std::uint32_t>(hint) + step) & (records() - 1);
    const std::uint32_t handle = kFirstRecord + (me_ << record_bits_) + number;
    std::uint32_t free = 0;
    if (record(handle).in_use.compare_exchange_strong(free, 1)) return handle;
  }
  return 0;
}

Record& LockMemory::record(std::uint32_t handle) {
  const std::uint32_t number = handle - kFirstRecord;
  GRAPNEL_CHECK(handle >= kFirstRecord && number >> record_bits_ < local_ranks_.size(), "record {}", handle);
  auto* first = reinterpret_cast<Record*>(part(number >> record_bits_) + count_ * stride_);
  return first[number & (records() - 1)];
}

}  // namespace grapnel::locks
