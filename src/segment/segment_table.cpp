#include "segment/segment.hpp"

#include <sys/mman.h>

#include <mutex>

#include "base/check.hpp"
#include "base/units.hpp"
#include "segment/internal/live.hpp"

namespace grapnel::segment {
namespace {

// A table over all granules: only the pages that stand for segments ever take memory.
std::size_t table_bytes(std::size_t pool_bytes) {
  return base::divide_up(pool_bytes, os::kPoolGranuleBytes) * sizeof(std::atomic<std::uintptr_t>);
}

std::atomic<std::uintptr_t>* create_table(std::size_t pool_bytes) {
  void* table = ::mmap(nullptr, table_bytes(pool_bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  GRAPNEL_CHECK(table != MAP_FAILED, "no addresses for a table of {} bytes", table_bytes(pool_bytes));
  return static_cast<std::atomic<std::uintptr_t>*>(table);
}

}  // namespace

SegmentTable::SegmentTable(launch::Launch& launch, launch::Exchange& exchange, os::Host& host,
                           transport::Transport* transport)
    : launch_(launch),
      exchange_(exchange),
      transport_(transport),
      pool_base_(launch.pool().base()),
      pool_bytes_(launch.pool().bytes()),
      end_of_granule_(create_table(pool_bytes_)),
      ranges_(launch, host),
      unmap_lock_(host),
      landings_(host),
      remote_(launch.nodes().node_count()) {}

SegmentTable::~SegmentTable() {
  // What the program did not free goes with this rank. The ranges stay taken: other ranks may still use them.
  for (auto& [key, live] : live_) withdraw(*live);
  ::munmap(end_of_granule_, table_bytes(pool_bytes_));
}

std::size_t SegmentTable::live_allocations() const { return live_.size(); }

const RemoteRegion* SegmentTable::find_remote(NodeId node, std::uintptr_t address, std::size_t bytes) const {
  if (index(node) >= remote_.size()) return nullptr;
  const std::shared_lock lock(remote_mutex_);
  const auto& regions = remote_[index(node)];
  auto behind = regions.upper_bound(address);
  if (behind == regions.begin()) return nullptr;
  const RemoteRegion& region = (--behind)->second;
  return address < region.end && bytes <= region.end - address ? &region : nullptr;
}

void SegmentTable::publish_range(std::size_t offset, std::size_t bytes) {
  const std::uintptr_t end = offset + bytes;
  for (std::size_t at = offset; at < end; at += os::kPoolGranuleBytes) {
    // Release: who reads the entry in `contains` finds the segment mapped.
    end_of_granule_[at / os::kPoolGranuleBytes].store(end, std::memory_order_release);
  }
}

void SegmentTable::withdraw(Live& live) {
  live.registered.reset();  // before the memory goes: a network card may have pinned it
  if (live.mapped) {
    {
      const std::unique_lock nobody_works_on_it(unmap_lock_);
      for (std::size_t at = 0; at < live.range_bytes; at += os::kPoolGranuleBytes) {
        // Relaxed: under the lock; a Pin taken later sees it through the lock.
        end_of_granule_[(live.range_offset + at) / os::kPoolGranuleBytes].store(0, std::memory_order_relaxed);
      }
    }
    // Nothing lands where the callers kept the rule that their operations are complete. Where the job has ended, the
    // rest of a payload meets no memory, and its connection breaks.
    const std::uintptr_t begin = pool_base_ + live.range_offset;
    landings_.wait_until_clear(begin, begin + live.range_bytes, [this] { return !launch_.health().ok(); });
    launch_.pool().unmap(pool_base_ + live.range_offset);
    live.mapped = false;
  }
  const std::unique_lock lock(remote_mutex_);
  for (const Live::Remote& region : live.remote) remote_[index(region.node)].erase(region.begin);
  live.remote.clear();
}

}  // namespace grapnel::segment
