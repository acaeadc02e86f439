// The way of a release: what this rank wrote goes to its homes, and an interval names it.
//
//   1. a full fence, then the served log: home pages that another node was given are watched from now on, or count as
//      written (served.cpp)
//   2. collect: which watched pages were written; and those that are carried
//   3. cached ones, with hlrc: diffs to their homes, by home, and each home's acknowledgement
//   4. an interval that names the cached ones, and home pages of which another node has a copy
//
// `busy` of each flushed page is held over the whole round trip, in ascending order, so no two flushes wait for each
// other; a rank that fetches waits for one at most and only tries others.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/units.hpp"
#include "dsm/diff.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"
#include "dsm/protocol.hpp"
#include "dsm/taken.hpp"

namespace grapnel::dsm {

// The diffs of one release. On the heap and not the stack: late acknowledgements still find it where a wait fails.
struct Heap::Flush {
  struct Message {
    DiffRooms::Room room;
    std::size_t bytes = 0;
  };
  struct Home {
    Flush* flush = nullptr;
    Message message;  ///< the one that is filled
  };
  DiffsBody body;
  std::vector<Home> homes;    ///< by node
  std::vector<Message> left;  ///< under way; they stay until the homes have answered
  std::size_t pending = 0;    ///< acknowledgements
  std::size_t asked = 0;      ///< the last home that was asked for one
  std::size_t acknowledged = 0;
  std::optional<std::size_t> refused;  ///< by this node

  explicit Flush(std::size_t nodes) : homes(nodes) {
    for (Home& home : homes) home.flush = this;
  }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<Home*>(context);
    --self.flush->pending;
    ++self.flush->acknowledged;
    if (reply.code != progress::ReplyCode::answer) self.flush->refused = index(reply.node);
  }
};

Status Heap::release_writes() {
  std::vector<std::size_t> cached, at_home, untracked;
  collect_written(cached, at_home);
  if (cached.empty() && at_home.empty()) return {};
  if (report_ != nullptr) GRAPNEL_TRY(report_->add_home_writes(at_home));
  // Until the interval is there: what another rank of the node wrote to these pages left with this flush, too, and that
  // one must not release before it is named.
  Taken taken(*this);
  GRAPNEL_TRY(protocol_->publish(cached, taken));
  if (planted(Bug::given_back_before_named)) {
    taken.give_back();
    os::Word never{0};
    core_.host.wait(never, 0, 3 * base::kMillisecond_ns);
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto interval, log_.make_interval(cached, at_home, untracked, *protocol_));
  taken.give_back();
  {
    // Every copy that another node has of these is older than an interval that it will learn of first.
    const base::MutexLock lock(mapping_);
    for (const std::size_t page : untracked) watched_.remove(page);
  }
  if (interval.number == 0) return {};
  counts_.intervals.add(1);
  counts_.notices_sent.add(pages_of(interval));
  // More than a barrier carries is asked for at this node.
  runs_since_barrier_ += interval.runs.size();
  if (runs_since_barrier_ > kMostRunsKept) {
    since_barrier_.clear();
  } else {
    since_barrier_.push_back(std::move(interval));
  }
  return {};
}

// Pages that are mapped bare count as written: no first write of them was noticed.
void Heap::collect_written(std::vector<std::size_t>& cached, std::vector<std::size_t>& at_home) {
  // Pairs with the server's, between its mark and its look at the page (handlers.cpp).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::vector<std::size_t> written;
  const std::vector<std::size_t> served = watch_what_was_served(written);
  {
    const base::MutexLock lock(mapping_);
    add_steady(written);
    const std::vector<os::Pages> watched = watched_.runs();
    counts_.scans.add(1);
    for (const os::Pages& run : watched) counts_.scanned_pages.add(run.count);
    must(trap_->collect(watched, written));
    const std::vector<std::size_t> carried = carry_.pages();
    written.insert(written.end(), carried.begin(), carried.end());
    carry_.clear();
  }
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  learn_served(served, written);
  counts_.written_pages.add(written.size());
  for (const std::size_t page : written) {
    const bool here = memory_.words(page).home.load(std::memory_order_relaxed) == my_home();
    (here ? at_home : cached).push_back(page);
  }
  if (!written.empty() && protocol_->twin_is_of_last_release()) find_steady(cached);
}

Status Heap::flush(const std::vector<std::size_t>& cached, Taken& taken) {
  if (cached.empty()) return {};
  const Stopwatch watch(core_.host, counts_.release);
  auto flush = std::make_unique<Flush>(memory_.node_count());
  flush->body.era = era();
  Status flushed;
  for (const std::size_t page : cached) GRAPNEL_TRY(taken.add(page));
  // Pairs with `unmap_stale` and `may_be_written`: a rank that sees the twin as it becomes below sees that the page is
  // taken.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const std::size_t page : cached) {
    flushed = add_diff(*flush, page);
    if (!flushed.ok()) break;
  }
  for (std::size_t home = 0; home < memory_.node_count() && flushed.ok(); ++home) {
    if (flush->homes[home].message.bytes > 0) flushed = send_diffs(*flush, home, true);
  }
  if (planted(Bug::fetch_beside_flush)) taken.give_back();
  const bool waits = flushed.ok() && flush->pending > 0 && !planted(Bug::published_before_applied);
  if (waits) {
    const Stopwatch waiting(core_.host, counts_.acknowledgement);
    const progress::Client::Guard guard(*core_.client);
    flushed = core_.client->wait_until(
        [&] { return flush->pending == 0; }, progress::Waiting::kForever,
        [&] {
          return progress::WaitSubject{progress::WaitKind::answer, "release of the shared heap", {flush->asked}};
        });
  }
  counts_.acknowledgements.add(flush->acknowledged);
  if (flush->refused) disbelieve(fmt::format("node {} does not take the diffs of its pages", *flush->refused));
  // Messages that have not left, and answers that may still come, refer to it.
  if (flush->pending > 0 || !flushed.ok()) {
    static_cast<void>(flush.release());
    return flushed;
  }
  for (Flush::Message& message : flush->left) rooms_.give_back(std::move(message.room));
  return {};
}

Status Heap::add_diff(Flush& flush, std::size_t page) {
  const std::size_t home = memory_.words(page).home.load(std::memory_order_relaxed) - 1;
  GRAPNEL_ASSERT(planted(Bug::moved_still_mapped) || (home != me_ && !memory_.words(page).is_absent()),
                 "page {}, at home with node {}, has no twin", page, home);
  // In its place in the message, or beside it where that may be full.
  Flush::Message& message = flush.homes[home].message;
  std::array<std::byte, kMostDiffBytes> beside;
  const bool fits = message.room && message.bytes + sizeof(DiffHeader) + kMostDiffBytes <= kMostDiffsBytes;
  std::byte* at = fits ? message.room.get() + message.bytes + sizeof(DiffHeader) : beside.data();
  const std::size_t bytes = make_diff(memory_.page(page), memory_.twin(page), at);
  if (bytes == 0) {
    counts_.empty_diffs.add(1);
    return {};
  }
  if (report_ != nullptr) report_->add_diff(page, {at, bytes});
  counts_.diffs.add(1);
  counts_.diff_bytes.add(bytes);
  const DiffHeader header{static_cast<std::uint32_t>(page), static_cast<std::uint32_t>(bytes)};
  if (!fits) {
    // A message is sent once there is a diff for the next one: the last one of a home is never empty.
    if (message.bytes + sizeof header + bytes > kMostDiffsBytes) GRAPNEL_TRY(send_diffs(flush, home, false));
    if (!message.room) message.room = rooms_.take();
    std::memcpy(message.room.get() + message.bytes + sizeof header, at, bytes);
  }
  std::memcpy(message.room.get() + message.bytes, &header, sizeof header);
  message.bytes += sizeof header + bytes;
  GRAPNEL_ASSERT(message.bytes <= kMostDiffsBytes, "{} bytes of diffs in a room of {}", message.bytes, kMostDiffsBytes);
  return {};
}

// The last message of a home asks for its acknowledgement: a home applies them in order, so all are applied then.
Status Heap::send_diffs(Flush& flush, std::size_t home, bool is_last) {
  flush.left.push_back(std::exchange(flush.homes[home].message, {}));
  progress::OutgoingRequest request;
  request.handler = handler(Call::diffs);
  request.body = base::bytes_of(flush.body);
  request.payload = {flush.left.back().room.get(), flush.left.back().bytes};
  if (is_last) {
    request.on_reply = {Flush::answered, &flush.homes[home]};
    ++flush.pending;
    flush.asked = home;
  }
  counts_.diff_messages.add(1);
  const progress::Client::Guard guard(*core_.client);
  return core_.client->send(NodeId{static_cast<int>(home)}, request).status();
}

}  // namespace grapnel::dsm
