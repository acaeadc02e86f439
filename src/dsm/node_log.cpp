// SPDX-License-Identifier: Apache-2.0
#include "dsm/node_log.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "dsm/moves.hpp"
#include "dsm/page_set.hpp"
#include "dsm/planted.hpp"
#include "dsm/protocol.hpp"

namespace grapnel::dsm {
namespace {

/// Words of pages that the server looks at for one request.
constexpr std::size_t kMostPagesPerLook = 32768;

std::uint64_t pack(const os::Pages& run) { return static_cast<std::uint64_t>(run.first) << 32 | run.count; }
os::Pages unpack(std::uint64_t packed) { return {packed >> 32, packed & UINT32_MAX}; }

}  // namespace

Result<Clock> NodeLog::clock() {
  const auto held = mutex_.lock();
  if (!held) return held.status();
  Clock clock;
  for (std::size_t node = 0; node < memory_.node_count(); ++node) clock.push_back(known(node));
  return clock;
}

Result<Interval> NodeLog::make_interval(const std::vector<std::size_t>& cached, const std::vector<std::size_t>& at_home,
                                        std::vector<std::size_t>& untracked, Protocol& protocol) {
  GRAPNEL_ASSERT(std::is_sorted(cached.begin(), cached.end()) && std::is_sorted(at_home.begin(), at_home.end()),
                 "an interval of {} and {} pages, which do not ascend", cached.size(), at_home.size());
  const auto held = mutex_.lock();
  if (!held) return held.status();
  const std::uint64_t serves = memory_.node().serves.load(std::memory_order_relaxed);
  std::vector<std::size_t> named = cached, tracked;
  for (const std::size_t page : at_home) (memory_.words(page).is_tracked() ? tracked : untracked).push_back(page);
  named.insert(named.end(), tracked.begin(), tracked.end());
  if (named.empty()) return Interval{};
  std::sort(named.begin(), named.end());
  Interval interval{known(me_) + 1, runs_of(named)};
  // First what it names, then its number: a reader that sees the number finds all of it.
  for (const std::size_t page : named) memory_.words(page).last.store(interval.number, std::memory_order_relaxed);
  GRAPNEL_TRY(protocol.name(named, interval.number));
  add_notices(interval);
  memory_.clock(me_).store(interval.number, std::memory_order_release);
  // After the clock: a rank that finds such a page untracked gives the interval on with its next grant. A serve since
  // `serves` was read has a higher count, so its page stays tracked.
  const std::uint64_t until = planted(Bug::named_for_ever) ? UINT64_MAX : serves;
  const std::uint32_t era = memory_.node().step_done.load(std::memory_order_relaxed);
  for (const std::size_t page : tracked) {
    memory_.words(page).named.store(until, std::memory_order_release);
    note_writer(memory_.words(page), era, me_);
  }
  return interval;
}

void NodeLog::add_notices(const Interval& interval) {
  LogEnds& ends = memory_.node().notices;
  std::uint64_t at = ends.begin_writing(interval.runs.size());
  for (const os::Pages& run : interval.runs) {
    NoticeEntry& entry = memory_.notice_entry(at++);
    entry.interval.store(interval.number, std::memory_order_relaxed);
    entry.pages.store(pack(run), std::memory_order_relaxed);
  }
  ends.end_writing(at);
}

Status NodeLog::apply(const std::vector<News>& news, Protocol& protocol) {
  const auto held = mutex_.lock();
  if (!held) return held.status();
  for (const News& one : news) GRAPNEL_TRY(apply(one, protocol));
  return {};
}

Status NodeLog::apply(const News& news, Protocol& protocol) {
  const auto& [node, latest, intervals] = news;
  GRAPNEL_ASSERT(node != me_, "node {} applies an interval of its own", me_);
  const std::uint64_t before = known(node);
  std::uint64_t count = 0;
  for (const Interval& interval : intervals) {
    for (const os::Pages& run : interval.runs) count += run.count;
  }
  LogEnds& ends = memory_.node().stale;
  std::uint64_t at = ends.begin_writing(count);
  for (const Interval& interval : intervals) {
    if (interval.number <= before || interval.number > latest) continue;
    for (const os::Pages& run : interval.runs) {
      for (std::size_t page = run.first; page < run.first + run.count; ++page) {
        PageWords& words = memory_.words(page);
        GRAPNEL_ASSIGN_OR_RETURN(const bool is_news, protocol.take_notice(page, node, interval.number));
        if (!is_news) continue;
        words.wanted.store(words.wanted.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        memory_.stale_entry(at++).store(static_cast<std::uint32_t>(page), std::memory_order_relaxed);
      }
    }
  }
  ends.end_writing(at);
  memory_.clock(node).store(std::max(before, latest), std::memory_order_release);
  return {};
}

std::vector<Interval> NodeLog::newest(std::size_t most) const {
  std::vector<Interval> intervals;
  const std::uint64_t latest = known(me_);
  const LogEnds& ends = memory_.node().notices;
  const std::uint64_t end = ends.end.load(std::memory_order_acquire);
  const std::uint64_t first = end - std::min<std::uint64_t>(end, most);
  for (std::uint64_t at = end; at > first; --at) {
    const NoticeEntry& entry = memory_.notice_entry(at - 1);
    const std::uint64_t number = entry.interval.load(std::memory_order_relaxed);
    if (number > latest) continue;
    if (intervals.empty() || intervals.back().number != number) intervals.push_back({number, {}});
    intervals.back().runs.push_back(unpack(entry.pages.load(std::memory_order_relaxed)));
  }
  if (!ends.is_whole(first, HeapMemory::kLogEntries)) return {};
  // The oldest one may not be all here.
  if (first > 0 && !intervals.empty()) intervals.pop_back();
  for (Interval& interval : intervals) std::reverse(interval.runs.begin(), interval.runs.end());
  return intervals;
}

void NodeLog::count_serve(std::size_t page) {
  NodeWords& node = memory_.node();
  const std::uint64_t count = node.serves.fetch_add(1, std::memory_order_relaxed) + 1;
  memory_.words(page).served.store(count, std::memory_order_relaxed);
  const std::uint64_t at = node.served.begin_writing(1);
  memory_.served_entry(at).store(static_cast<std::uint32_t>(page), std::memory_order_relaxed);
  node.served.end_writing(at + 1);
}

bool NodeLog::add_from_ring(std::uint64_t since, std::size_t most, std::vector<os::Pages>& runs) const {
  const LogEnds& ends = memory_.node().notices;
  const std::uint64_t end = ends.end.load(std::memory_order_acquire);
  std::uint64_t at = end;
  bool reached = false;
  while (!reached && at > 0 && end - at < HeapMemory::kLogEntries && runs.size() <= most) {
    const NoticeEntry& entry = memory_.notice_entry(--at);
    reached = entry.interval.load(std::memory_order_relaxed) <= since;
    if (!reached) runs.push_back(unpack(entry.pages.load(std::memory_order_relaxed)));
  }
  const bool whole = (reached || at == 0) && runs.size() <= most && ends.is_whole(at, HeapMemory::kLogEntries);
  if (!whole) runs.clear();
  return whole;
}

NodeLog::Answer NodeLog::notices_since(std::uint64_t since, std::size_t from_page, std::size_t most) const {
  Answer answer;
  answer.latest = known(me_);
  if (from_page == 0 && add_from_ring(since, most, answer.runs)) return answer;
  std::size_t page = from_page;
  const std::size_t end = std::min(memory_.page_count(), from_page + kMostPagesPerLook);
  for (; page < end && answer.runs.size() < most; ++page) {
    if (memory_.words(page).last.load(std::memory_order_relaxed) <= since) continue;
    if (!answer.runs.empty() && answer.runs.back().first + answer.runs.back().count == page) {
      ++answer.runs.back().count;
    } else {
      answer.runs.push_back({page, 1});
    }
  }
  if (page < memory_.page_count()) answer.next_page = page;
  return answer;
}

}  // namespace grapnel::dsm
