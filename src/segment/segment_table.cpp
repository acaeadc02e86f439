// SPDX-License-Identifier: Apache-2.0
#include "segment/segment.hpp"

#include <mutex>

#include "base/check.hpp"
#include "base/units.hpp"
#include "segment/internal/live.hpp"

namespace grapnel::segment {
namespace {

// Tags of the two files, apart from what else is under way to a rank.
constexpr std::uint64_t kMemoryTag = 0x7365'676d'656e'7401;
constexpr std::uint64_t kTableTag = 0x7365'676d'656e'7402;

// A table over all granules: only the pages that stand for segments ever take memory.
std::size_t table_bytes(std::size_t pool_bytes) {
  return base::divide_up(pool_bytes, os::kPoolGranuleBytes) * sizeof(std::atomic<std::uintptr_t>);
}

// A file of the node's leader, in all its ranks.
Result<os::Descriptor> share_file(launch::Launch& launch, const char* label, std::uint64_t tag, std::size_t bytes) {
  if (!launch.leads_node()) return launch.receive_descriptor(tag);
  auto file = os::create_shared_file(label, bytes);
  if (!file) return file.status();
  for (const Rank rank : launch.nodes().ranks_of[index(launch.node())]) {
    if (rank != launch.rank()) GRAPNEL_TRY(launch.send_descriptor(rank, tag, *file));
  }
  return file;
}

}  // namespace

std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId) {
  return RangeAllocator::node_memory_bytes() + BulkReceives::node_memory_bytes(nodes.node_of.size()) +
         base::kCacheLineBytes;  // the pin lock
}

Result<SegmentTable::NodeFiles> SegmentTable::share_files(launch::Launch& launch) {
  os::AddressPool& pool = launch.pool();
  GRAPNEL_ASSIGN_OR_RETURN(auto memory, share_file(launch, "grapnel-segments", kMemoryTag, pool.bytes()));
  GRAPNEL_ASSIGN_OR_RETURN(const auto table,
                           share_file(launch, "grapnel-bounds", kTableTag, table_bytes(pool.bytes())));
  GRAPNEL_ASSIGN_OR_RETURN(auto mapping, os::Mapping::create(table, table_bytes(pool.bytes())));
  GRAPNEL_TRY(pool.map(memory, pool.base(), pool.bytes()));
  return NodeFiles{std::move(memory), std::move(mapping)};
}

Result<std::unique_ptr<SegmentTable>> SegmentTable::create(launch::Launch& launch, exchange::Exchange& exchange,
                                                           os::Host& host, transport::Transport* transport) {
  GRAPNEL_ASSIGN_OR_RETURN(auto files, share_files(launch));
  return std::unique_ptr<SegmentTable>(new SegmentTable(launch, exchange, host, transport, std::move(files)));
}

SegmentTable::SegmentTable(launch::Launch& launch, exchange::Exchange& exchange, os::Host& host,
                           transport::Transport* transport, NodeFiles files)
    : launch_(launch),
      exchange_(exchange),
      transport_(transport),
      pool_base_(launch.pool().base()),
      files_(std::move(files)),
      end_of_granule_(static_cast<std::atomic<std::uintptr_t>*>(files_.table.address())),
      reach_(pool_base_, launch.pool().bytes(), end_of_granule_),
      ranges_(launch, host),
      withdraw_lock_(launch, host),
      landings_(launch, host),
      remote_(launch.nodes().node_count()) {}

SegmentTable::~SegmentTable() {
  // What the program did not free ends with the node's last rank: the others may still use it.
  for (auto& [key, live] : live_) forget(*live);
  launch_.pool().unmap(pool_base_);
}

std::size_t SegmentTable::live_allocations() const { return live_.size(); }

const RemoteRegion* SegmentTable::find_remote(NodeId node, std::uintptr_t address, std::size_t bytes) const {
  const base::SharedLock lock(remote_mutex_);
  if (index(node) >= remote_.size()) return nullptr;
  const auto& regions = remote_[index(node)];
  auto behind = regions.upper_bound(address);
  if (behind == regions.begin()) return nullptr;
  const RemoteRegion& region = (--behind)->second;
  return address < region.end && bytes <= region.end - address ? &region : nullptr;
}

Status SegmentTable::take(const void* address, std::size_t bytes) {
  GRAPNEL_TRY(os::check_memory_available(bytes));
  return os::reserve_shared_file(files_.memory, place_in_file(address).second, bytes);
}

std::pair<int, std::uint64_t> SegmentTable::place_in_file(const void* address) const {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - pool_base_;
  GRAPNEL_CHECK(offset < launch_.pool().bytes(), "{} lies in no segment of this node", address);
  return {files_.memory.number(), offset};
}

void SegmentTable::publish_range(std::size_t offset, std::size_t end) {
  for (std::size_t at = offset; at < end; at += os::kPoolGranuleBytes) {
    // Release: a thread that reads the entry in `contains` finds the memory zero.
    end_of_granule_[at / os::kPoolGranuleBytes].store(end, std::memory_order_release);
  }
}

Status SegmentTable::give_back(const Live& live) {
  if (!live.claimed) return {};
  {
    const std::unique_lock nobody_works_on_it(withdraw_lock_);
    for (std::size_t at = 0; at < live.range_bytes; at += os::kPoolGranuleBytes) {
      // Relaxed: under the lock; a Pin taken later sees it through the lock.
      end_of_granule_[(live.range_offset + at) / os::kPoolGranuleBytes].store(0, std::memory_order_relaxed);
    }
  }
  // Nothing lands where the callers kept the rule that their operations are complete. Where the job has ended, the rest
  // of a payload meets memory that is no longer read.
  const std::uintptr_t begin = pool_base_ + live.range_offset;
  landings_.wait_until_clear(begin, begin + live.range_bytes, [this] { return !launch_.health().ok(); });
  GRAPNEL_TRY(os::release_shared_file(files_.memory, live.range_offset, live.range_bytes));
  return ranges_.free(live.range_offset, live.range_bytes);
}

void SegmentTable::forget(Live& live) {
  live.registered.reset();
  const base::ExclusiveLock lock(remote_mutex_);
  for (const Live::Remote& region : live.remote) remote_[index(region.node)].erase(region.begin);
  live.remote.clear();
}

}  // namespace grapnel::segment
