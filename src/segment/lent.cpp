// SPDX-License-Identifier: Apache-2.0
#include "segment/lent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"

namespace grapnel::segment {
namespace {

// Of no error number: a pid means nothing in another namespace.
constexpr std::uint32_t kOtherNamespace = 1 << 16;

launch::Group group_of(Rank me, int size) {
  auto alone = launch::make_group({me}, me, size);
  GRAPNEL_CHECK(alone.ok(), "a group of rank {} alone", index(me));
  return std::move(*alone);
}

}  // namespace

std::size_t Lent::node_memory_bytes(const launch::NodeMap& nodes, NodeId node) {
  return sizeof(Node) + nodes.ranks_of[index(node)].size() * sizeof(Head);
}

Lent::Lent(launch::Launch& launch, os::Host& host, SegmentTable& segments)
    : launch_(launch),
      host_(host),
      segments_(segments),
      place_(launch::places_in_nodes(launch.nodes())),
      my_place_(place_[index(launch.rank())]),
      node_(launch.node_memory().carve<Node>(1).front()),
      heads_(launch.node_memory().carve<Head>(launch.nodes().ranks_of[index(launch.node())].size())),
      probes_(heads_.size()),
      alone_(group_of(launch.rank(), launch.size())) {
  if (heads_.size() > 1) os::allow_process_copies();
  const os::ProcessName me = os::my_process_name();
  Head& mine = heads_[my_place_];
  mine.pid.store(me.pid, std::memory_order_relaxed);
  mine.pid_namespace.store(me.pid_namespace, std::memory_order_relaxed);
  mine.probe.store(reinterpret_cast<std::uint64_t>(probes_.data()), std::memory_order_relaxed);
  mine.has_started.store(1);  // seq_cst: of two ranks the later one sees the earlier one
  try_neighbours();
  node_.tried.fetch_add(1, std::memory_order_release);  // pairs with `obstacle`
  host_.wake(node_.tried);
}

// ---- the right to copy ----

void Lent::try_neighbours() {
  for (std::size_t place = 0; place < heads_.size(); ++place) {
    if (heads_[place].has_started.load() == 0) continue;
    std::uint32_t none = 0;
    const std::uint32_t found = try_copies(heads_[place]);
    if (found != 0) node_.obstacle.compare_exchange_strong(none, found, std::memory_order_relaxed);
  }
}

std::uint32_t Lent::try_copies(const Head& neighbour) {
  const os::ProcessName target = process_of(neighbour), me = process_of(heads_[my_place_]);
  if (target.pid == 0 || target.pid_namespace != me.pid_namespace) return kOtherNamespace;
  // A word that is this rank's in the neighbour's memory.
  const std::uintptr_t there = neighbour.probe.load(std::memory_order_relaxed) + my_place_ * sizeof(std::uint64_t);
  std::uint64_t sent = launch_.job_secret() | 1, found = 0;
  const os::CopyRun out{&sent, there, sizeof sent}, in{&found, there, sizeof found};
  errno = 0;
  if (host_.copy_to(target, {&out, 1}).ok() && host_.copy_from(target, {&in, 1}).ok() && found == sent) return 0;
  return errno != 0 ? static_cast<std::uint32_t>(errno) : EPERM;
}

std::optional<std::uint32_t> Lent::obstacle() const {
  if (node_.tried.load(std::memory_order_acquire) < heads_.size()) return {};
  return node_.obstacle.load(std::memory_order_relaxed);
}

Status Lent::explain(NodeId node, std::uint32_t obstacle) {
  if (obstacle == 0) return {};
  if (obstacle == kOtherNamespace) {
    return Status(
        Code::unavailable,
        fmt::format("the ranks of node {} are in different pid namespaces, so that the kernel copies no memory "
                    "between them; start them in one",
                    index(node)));
  }
  return Status(Code::unavailable,
                fmt::format("the kernel copies no memory between the ranks of node {} (process_vm_readv: {}); let it: "
                            "kernel.yama.ptrace_scope 0 or 1, one user, no seccomp filter against it",
                            index(node), std::strerror(static_cast<int>(obstacle))));
}

// ---- looking up ----

const Lent::Head* Lent::head_of(Rank owner) const {
  const auto& node_of = launch_.nodes().node_of;
  if (static_cast<std::size_t>(owner) >= node_of.size() || node_of[index(owner)] != launch_.node()) return nullptr;
  return &heads_[place_[index(owner)]];
}

os::ProcessName Lent::process_of(const Head& head) const {
  return {head.pid.load(std::memory_order_relaxed), head.pid_namespace.load(std::memory_order_relaxed)};
}

// Acquire: a reader that reads an entry of a newer list sees the newer version, too.
const Lent::Entry* Lent::last_not_behind(const Entry* entries, std::uint64_t count, std::uintptr_t address) {
  std::uint64_t first = 0, behind = count;
  while (first < behind) {
    const std::uint64_t middle = first + (behind - first) / 2;
    if (entries[middle].begin.load(std::memory_order_acquire) <= address) {
      first = middle + 1;
    } else {
      behind = middle;
    }
  }
  return first == 0 ? nullptr : &entries[first - 1];
}

Lent::Range Lent::find(Rank owner, std::uintptr_t address) const {
  const Head* const head = head_of(owner);
  if (head == nullptr) return {};
  for (;;) {  // repeats only where the owner has published another list
    const std::uint64_t version = head->version.load(std::memory_order_acquire);
    const List& list = head->lists[version % 2];
    const auto* const entries = reinterpret_cast<const Entry*>(list.address.load(std::memory_order_acquire));
    const std::uint64_t count = list.count.load(std::memory_order_acquire);
    // Before an entry is read: address and count must be of one list.
    if (head->version.load(std::memory_order_acquire) != version) continue;
    Range found;
    if (const Entry* const entry = last_not_behind(entries, count, address)) {
      found = {entry->begin.load(std::memory_order_acquire), entry->end.load(std::memory_order_acquire)};
    }
    if (head->version.load(std::memory_order_acquire) != version) continue;
    return found.holds(address, 0) ? found : Range{};
  }
}

Status Lent::write(Rank owner, std::span<const os::CopyRun> runs) const {
  const Head* const head = head_of(owner);
  GRAPNEL_ASSERT(head != nullptr, "rank {} is of another node", index(owner));
  return host_.copy_to(process_of(*head), runs);
}

Status Lent::read(Rank owner, std::span<const os::CopyRun> runs) const {
  const Head* const head = head_of(owner);
  GRAPNEL_ASSERT(head != nullptr, "rank {} is of another node", index(owner));
  return host_.copy_from(process_of(*head), runs);
}

// ---- the owner's list ----

namespace {

// Of ranges that ascend by their begin; neighbours without a gap become one.
template <typename Each>
void append_united(Each first, Each last, std::vector<Lent::Range>& out) {
  const std::size_t before = out.size();
  for (; first != last; ++first) {
    const auto [begin, end] = first->first;
    if (out.size() > before && begin <= out.back().end) {
      out.back().end = std::max(out.back().end, end);
    } else {
      out.push_back({begin, end});
    }
  }
}

}  // namespace

// Only those united ranges change that the new one touches.
Status Lent::lend(const void* address, std::size_t bytes) {
  if (bytes == 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (bytes > UINTPTR_MAX - begin) {
    return Status(Code::invalid_argument,
                  fmt::format("lend: {} bytes at {} are beyond the last address", bytes, address));
  }
  // Room for all of them one by one, so that `take_back` needs none.
  if (lent_.size() + 1 > capacity_) GRAPNEL_TRY(grow());
  if (lent_[{begin, begin + bytes}]++ > 0) return {};
  Range more{begin, begin + bytes};
  const auto first = std::lower_bound(united_.begin(), united_.end(), more.begin,
                                      [](const Range& one, std::uintptr_t at) { return one.end < at; });
  auto last = first;
  for (; last != united_.end() && last->begin <= more.end; ++last) {
    more = {std::min(more.begin, last->begin), std::max(more.end, last->end)};
  }
  united_.insert(united_.erase(first, last), more);
  publish();
  return {};
}

Status Lent::take_back(const void* address, std::size_t bytes) {
  if (bytes == 0) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto found = lent_.find({begin, begin + bytes});
  if (found == lent_.end()) {
    return Status(Code::invalid_argument, fmt::format("take back: {} bytes at {} were not lent", bytes, address));
  }
  if (--found->second > 0) return {};
  lent_.erase(found);
  // What is left of the united range that held it.
  const auto behind = std::upper_bound(united_.begin(), united_.end(), begin,
                                       [](std::uintptr_t at, const Range& one) { return at < one.begin; });
  GRAPNEL_ASSERT(behind != united_.begin() && std::prev(behind)->holds(begin, bytes),
                 "no united range holds {} lent bytes at {}", bytes, address);
  const auto of = std::prev(behind);
  std::vector<Range> left;
  append_united(lent_.lower_bound({of->begin, 0}), lent_.lower_bound({of->end, 0}), left);
  const auto place = united_.erase(of);
  united_.insert(place, left.begin(), left.end());
  publish();
  return {};
}

void Lent::publish() {
  GRAPNEL_ASSERT(united_.size() <= capacity_, "{} ranges; the list holds {}", united_.size(), capacity_);
  Head& mine = heads_[my_place_];
  const std::uint64_t next = mine.version.load(std::memory_order_relaxed) + 1;
  Entry* const entries = memory_ + next % 2 * capacity_;
  // Release, all: a reader that reads one of them sees the version that was published before this one.
  for (std::size_t i = 0; i < united_.size(); ++i) {
    entries[i].begin.store(united_[i].begin, std::memory_order_release);
    entries[i].end.store(united_[i].end, std::memory_order_release);
  }
  mine.lists[next % 2].address.store(reinterpret_cast<std::uint64_t>(entries), std::memory_order_release);
  mine.lists[next % 2].count.store(united_.size(), std::memory_order_release);
  mine.version.store(next, std::memory_order_release);  // pairs with `find`
}

Status Lent::grow() {
  const std::size_t least = os::kPoolGranuleBytes / sizeof(Entry) / 2;
  const std::size_t capacity = std::max(2 * capacity_, least);
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocation, segments_.allocate(alone_, 2 * capacity * sizeof(Entry)));
  memory_ = static_cast<Entry*>(allocation.parts.front().address);
  capacity_ = capacity;
  return {};
}

}  // namespace grapnel::segment
