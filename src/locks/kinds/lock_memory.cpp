#include "locks/kinds/lock_memory.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/random.hpp"

namespace grapnel::locks {

namespace {

// A rank stands once in a lock's queue, and its place before that may not be free yet.
unsigned bits_of_records(std::size_t locks) {
  const std::size_t wanted = std::clamp<std::size_t>(2 * locks, LockMemory::kLeastRecords, LockMemory::kMostRecords);
  return static_cast<unsigned>(std::bit_width(wanted - 1));
}

}  // namespace

LockMemory::LockMemory(const launch::Launch& launch, int count, std::size_t payload_bytes, std::size_t lines,
                       bool has_places)
    : count_(static_cast<std::size_t>(count)),
      room_bytes_(payload_bytes == 0 ? 0 : (sizeof(std::uint32_t) + payload_bytes + 63) / 64 * 64),
      stride_(kLineBytes + 3 * room_bytes_),
      capacity_(lines == 0 ? 0 : std::bit_ceil(2 * lines)),  // half empty, so that searches are short
      has_places_(has_places),
      record_bits_(bits_of_records(count_ * static_cast<std::size_t>(launch.size()))),
      homes_(static_cast<std::size_t>(launch.size())),
      local_ranks_(launch.nodes().ranks_of[index(launch.node())]),
      leads_(launch.leads_node()) {
  for (std::uint32_t local = 0; local < local_ranks_.size(); ++local) {
    if (local_ranks_[local] == launch.rank()) me_ = local;
  }
}

std::size_t LockMemory::bytes_here() const {
  const std::size_t table = leads_ ? capacity_ * (sizeof(std::uint64_t) + stride_) : 0;
  return table_offset() + (table + 63) / 64 * 64;
}

void LockMemory::place(const std::vector<void*>& parts) {
  for (const Rank rank : local_ranks_) {
    parts_.push_back(static_cast<std::byte*>(parts[index(rank)]));
    homes_[index(rank)] = parts_.back();
  }
  std::byte* table = parts_[0] + table_offset();
  lines_ = table;  // first, so that they keep their alignment
  keys_ = reinterpret_cast<std::atomic<std::uint64_t>*>(table + capacity_ * stride_);
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
  if (room_bytes_ == 0) return {};
  const std::byte* place =
      static_cast<const std::byte*>(line) + kLineBytes + static_cast<std::size_t>(room) * room_bytes_;
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, place, sizeof bytes);
  return {place + sizeof bytes, place + sizeof bytes + bytes};
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
  GRAPNEL_CHECK(handle >= kFirstRecord && number >> record_bits_ < parts_.size(), "record {}", handle);
  auto* first = reinterpret_cast<Record*>(parts_[number >> record_bits_] + count_ * stride_);
  return first[number & (records() - 1)];
}

}  // namespace grapnel::locks
