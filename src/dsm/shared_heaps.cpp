// SPDX-License-Identifier: Apache-2.0
#include "dsm/shared_heaps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "exchange/agreement.hpp"
#include "locks/locks.hpp"
#include "rma/service.hpp"

namespace grapnel::dsm {
namespace {

// Below what libraries, stacks and the pools of segments use; and one above the address sanitizer's shadow.
constexpr std::array<std::uintptr_t, 6> kBases = {0x100000000000, 0x180000000000, 0x280000000000,
                                                  0x300000000000, 0x380000000000, 0x400000000000};

// Those of the settings.
constexpr std::size_t kMostHeapBytes = 1024 * base::kGiB;
constexpr int kMostLocks = 1 << 20;
constexpr int kMostMoreLocks = 64;

Result<std::unique_ptr<core::Service>> open_service(core::Core& core, progress::HandlerId first) {
  return std::unique_ptr<core::Service>(std::make_unique<SharedHeaps>(core, first));
}

}  // namespace

const core::ServiceType kService{"dsm", Settings::group, nullptr, kCalls, open_service};

Result<SharedHeapOptions> SharedHeaps::agree_on_options(SharedHeapOptions options) {
  const auto& settings = core_.config.get<Settings>();
  if (options.bytes == 0) options.bytes = settings.heap_bytes;
  options.bytes = std::min(options.bytes, kMostHeapBytes + 1);  // refused below, in all ranks
  options.bytes = base::round_up(options.bytes, HeapMemory::kExtentBytes);
  if (options.locks <= 0) options.locks = static_cast<int>(settings.locks);
  // More than the most is refused below, in all ranks.
  options.locks = std::min(options.locks, kMostLocks + 1);
  options.more_locks = std::clamp(options.more_locks, 0, kMostMoreLocks + 1);
  const std::array<std::uint64_t, 5> mine{options.bytes, static_cast<std::uint64_t>(options.locks),
                                          static_cast<std::uint64_t>(options.more_locks), heap_ ? 1U : 0U,
                                          options.threads ? 1U : 0U};
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, core_.exchange.allgather(core_.world, std::as_bytes(std::span(mine))));
  const bool alike = std::all_of(all.begin(), all.end(), [&](const Bytes& one) { return one == all[0]; });
  if (!alike) return Status(Code::invalid_argument, "open_shared_heap: the ranks' options differ");
  if (heap_) return Status(Code::invalid_argument, "open_shared_heap: the job's heap is open already");
  if (options.bytes > kMostHeapBytes || options.locks > kMostLocks || options.more_locks > kMostMoreLocks) {
    return Status(Code::invalid_argument, fmt::format("open_shared_heap: {} bytes at most, {} locks and {} more",
                                                      kMostHeapBytes, kMostLocks, kMostMoreLocks));
  }
  options.locks += options.more_locks;
  const std::size_t nodes = core_.launch.nodes().node_count();
  if (nodes <= kMostNodes) return options;
  return Status(Code::unavailable,
                fmt::format("open_shared_heap: {} nodes; a shared heap has {} at most", nodes, kMostNodes));
}

Status SharedHeaps::agree_on_addresses(HeapParts& parts) {
  if (!core_.host.has_page_tables()) {
    parts.base = kBases[0];  // of simulated programs; nothing is mapped there
    return {};
  }
  std::array<std::unique_ptr<os::AddressPool>, kBases.size()> mine;
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < kBases.size(); ++i) {
    auto reserved = os::AddressPool::reserve(kBases[i], parts.memory.bytes());
    if (!reserved) continue;
    mine[i] = *std::move(reserved);
    free |= std::uint64_t{1} << i;
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, core_.exchange.allgather(core_.world, base::bytes_of(free)));
  for (const Bytes& one : all) free &= base::Decoder(one).get<std::uint64_t>().value_or(0);
  if (free == 0) {
    return Status(Code::unavailable,
                  fmt::format("no range of {} MiB of addresses is free in all ranks; lower GRAPNEL_DSM_HEAP_BYTES",
                              parts.memory.bytes() / base::kMiB));
  }
  const auto chosen = static_cast<std::size_t>(std::countr_zero(free));
  parts.base = kBases[chosen];
  parts.addresses = std::move(mine[chosen]);
  return {};
}

Result<std::shared_ptr<Heap>> SharedHeaps::open(const SharedHeapOptions& asked) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto options, agree_on_options(asked));
  const auto locks = static_cast<std::size_t>(options.locks);
  GRAPNEL_ASSIGN_OR_RETURN(const auto memory, HeapMemory::allocate(core_, options.bytes, locks));
  HeapParts parts;
  parts.memory = memory;
  parts.first_handler = first_handler_;
  const auto& settings = core_.config.get<Settings>();
  parts.moves = settings.moves == Moves::on && settings.protocol == ProtocolChoice::hlrc && !options.threads &&
                memory.node_count() > 1;
  auto report = Report::open(core_, memory);
  Status made = report.status();
  if (made.ok()) parts.report = *std::move(report);
  if (made.ok()) made = make_parts(parts, options.locks);
  std::shared_ptr<Heap> heap;
  if (made.ok()) {
    heap = std::make_shared<Heap>(core_, core_.service<sync::Barriers>(), parts);
    made = exchange::agree_on(core_.exchange, core_.world, heap->open_view());
  }
  if (!made.ok()) {
    heap.reset();
    if (parts.records) GRAPNEL_TRY(parts.records->free(core_));
    if (parts.locks) GRAPNEL_TRY(core_.service<locks::Locks>().destroy(*parts.locks));
    GRAPNEL_TRY(memory.free(core_));
    return made;
  }
  if (core_.server != nullptr) {
    handlers_.open(memory, parts.records, {settings.homes, parts.moves, parts.report != nullptr});
  }
  core_.service<rma::RmaService>().rma().keep_out(heap->base(), heap->base() + heap->bytes());
  // Every server knows the heap before any rank goes on.
  GRAPNEL_TRY(exchange::meet(core_.exchange, core_.world));
  heap_ = std::move(heap);
  report_ = parts.report;
  return heap_;
}

// Every rank gets the same answer.
Status SharedHeaps::make_parts(HeapParts& parts, int locks) {
  if (combine_ == 0) {
    const auto added = core_.service<sync::Barriers>().add_combine(join_meetings);
    if (added) combine_ = *added;
    GRAPNEL_TRY(exchange::agree_on(core_.exchange, core_.world, added.status()));
  }
  parts.combine = combine_;
  GRAPNEL_TRY(agree_on_addresses(parts));
  const auto& settings = core_.config.get<Settings>();
  if (settings.protocol == ProtocolChoice::lrc && core_.launch.nodes().node_count() > 1) {
    GRAPNEL_ASSIGN_OR_RETURN(parts.records, RecordMemory::allocate(core_, parts.memory, settings.record_bytes));
  }
  LockOptions options;
  options.payload_bytes = core_.launch.nodes().node_count() > 1 ? kMostLockPayload : 0;
  parts.lock_count = static_cast<std::uint32_t>(locks);
  const int per_rank = (locks - 1) / core_.launch.size() + 1;
  const auto world = std::make_shared<const launch::Group>(core_.world);
  GRAPNEL_ASSIGN_OR_RETURN(parts.locks, core_.service<locks::Locks>().create(world, per_rank, options));
  return {};
}

Status SharedHeaps::complete() { return report_ ? report_->close(heap_->base()) : Status(); }

void SharedHeaps::append_counts(std::vector<OperationCount>& rows) const {
  const SharedHeapCounts c = heap_ ? heap_->counts() : SharedHeapCounts();
  rows.push_back({"heap fetch", 0, 0, c.fetched_pages, c.fetched_pages * os::kPageBytes, c.fetches});
  rows.push_back({"heap diff", 0, 0, c.diffs, c.diff_bytes, c.diff_messages});
  const std::uint64_t questions = c.home_questions + c.notice_questions;
  rows.push_back({"heap question", 0, 0, questions, 0, questions});
  rows.push_back({"heap condition", 0, 0, c.condition_waits, 0, c.condition_messages});
}

Result<std::string> SharedHeaps::report(const core::Gather& gather) {
  return heap_ ? table_of_counts(heap_->counts(), gather) : std::string();
}

}  // namespace grapnel::dsm
