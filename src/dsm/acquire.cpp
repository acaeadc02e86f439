// The way of an acquire: what others wrote before becomes visible.
//
//   1. learn     intervals that are not known yet: those that the grant or the barrier brought, and those that their
//                nodes are asked for
//   2. apply     each page that they name, and that is at home elsewhere, becomes stale, for the whole node
//   3. unmap     of this rank, what has become stale, by its own place in the node's log: always, since another rank of
//                the node may have done 1 and 2
//
// What a rank wrote to a page is known to its mapping, and goes with it. So a page that is unmapped is compared with
// its twin; it is carried to the next release where they differ, or where another rank flushes it at this moment: its
// bytes have then left the page for the twin, and the home may not have them yet.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/codec.hpp"
#include "base/varint.hpp"
#include "dsm/ask.hpp"
#include "dsm/diff.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"
#include "dsm/protocol.hpp"

namespace grapnel::dsm {

/// Numbers of intervals are varints.
constexpr std::uint64_t kMostIntervals = std::uint64_t{1} << base::kVarintValueBits;

// To one node: which pages its intervals after `since` name.
struct Heap::Question {
  std::size_t node = 0;
  std::size_t pages = 0;  ///< of the heap
  NoticesBody asked;
  NoticesReply reply;
  std::uint64_t latest = 0;  ///< of the first answer: pages were looked at after it
  std::vector<os::Pages> runs;
  bool done = false, refused = false;

  ByteView body() const { return base::bytes_of(asked); }
  std::size_t reply_bytes() const { return kMostRunsPerMessage * sizeof(PageRun); }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<Question*>(context);
    self.done = true;
    self.refused = reply.code != progress::ReplyCode::answer || reply.body.size() != sizeof(NoticesReply) ||
                   reply.payload.size() % sizeof(PageRun) != 0;
    if (self.refused) return;
    self.reply = reply.body_as<NoticesReply>();
    const std::uint64_t next = self.reply.next_page;
    const bool goes_on = next == 0 || (next > self.asked.from_page && next < self.pages);
    self.refused = !goes_on || self.reply.latest < self.asked.since || self.reply.latest >= kMostIntervals;
    for (std::size_t at = 0; at < reply.payload.size(); at += sizeof(PageRun)) {
      PageRun run;
      std::memcpy(&run, reply.payload.data() + at, sizeof run);
      self.refused |= run.first >= self.pages || run.count > self.pages - run.first;
      if (!self.refused) self.runs.push_back({run.first, run.count});
    }
  }
};

Status Heap::learn(const Grant& grant, std::size_t from) {
  if (planted(Bug::own_place_skipped)) stale_cursor_ = memory_.node().stale.end.load(std::memory_order_relaxed);
  std::vector<News> news;
  for (std::size_t node = 0; node < grant.clock.size(); ++node) {
    if (node == me_ || grant.clock[node] <= log_.known(node)) continue;
    news.push_back({node, grant.clock[node], node == from ? grant.intervals : std::vector<Interval>{}});
  }
  return take_news(std::move(news));
}

Status Heap::learn(const Meeting& meeting) {
  std::vector<News> news;
  for (const auto& [node, told] : meeting.nodes) {
    const std::uint64_t known = log_.known(node);
    if (node == me_ || told.latest <= known) continue;
    news.push_back({node, told.latest, told.complete ? told.intervals : std::vector<Interval>{}});
  }
  return take_news(std::move(news));
}

namespace {

// Whether the intervals known + 1 … latest are all there.
bool is_complete(const std::vector<Interval>& intervals, std::uint64_t known, std::uint64_t latest) {
  std::vector<std::uint64_t> numbers;
  for (const Interval& interval : intervals) {
    if (interval.number > known && interval.number <= latest) numbers.push_back(interval.number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers.size() == latest - known;
}

// Pages that the intervals after `known` name.
std::uint64_t pages_since(const std::vector<Interval>& intervals, std::uint64_t known) {
  std::uint64_t pages = 0;
  for (const Interval& interval : intervals) pages += interval.number > known ? pages_of(interval) : 0;
  return pages;
}

}  // namespace

Status Heap::take_news(std::vector<News> news) {
  std::vector<News> asked, all;
  for (News& one : news) {
    const bool complete = is_complete(one.intervals, log_.known(one.node), one.latest);
    (complete ? all : asked).push_back(std::move(one));
  }
  if (!asked.empty()) GRAPNEL_TRY(ask_for_notices(asked));
  std::move(asked.begin(), asked.end(), std::back_inserter(all));
  for (const News& one : all) counts_.notices_received.add(pages_since(one.intervals, log_.known(one.node)));
  return all.empty() ? Status() : log_.apply(all, *protocol_);
}

// All nodes at once. Each node's answer becomes one interval: up to the node's latest one, or, where an acquire applies
// no more than the releaser knew, up to that.
Status Heap::ask_for_notices(std::vector<News>& news) {
  std::vector<std::unique_ptr<Question>> questions;
  for (const News& one : news) {
    questions.push_back(std::make_unique<Question>());
    questions.back()->node = one.node;
    questions.back()->pages = memory_.page_count();
    questions.back()->asked.since = log_.known(one.node);
  }
  while (open_among(questions) > 0) {
    counts_.notice_questions.add(open_among(questions));
    GRAPNEL_TRY(ask_all(*core_.client, handler(Call::notices), questions));
    for (const auto& question : questions) {
      if (question->refused) disbelieve(fmt::format("node {} does not answer which pages it wrote", question->node));
      if (question->latest == 0) question->latest = question->reply.latest;
      if (question->reply.next_page == 0) continue;
      question->asked.from_page = std::exchange(question->reply.next_page, 0);
      question->done = false;
    }
  }
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (protocol_->takes_more_than_told() || planted(Bug::more_than_told)) {
      news[i].latest = std::max(news[i].latest, questions[i]->latest);
    }
    news[i].intervals = {{news[i].latest, std::move(questions[i]->runs)}};
  }
  return {};
}

void Heap::unmap_stale() {
  std::vector<std::size_t> candidates, stale;
  const bool whole = log_.read_stale(stale_cursor_, [&](std::size_t page) { candidates.push_back(page); });
  const base::MutexLock lock(mapping_);
  if (!whole) candidates = mapped_.pages();
  for (const std::size_t page : candidates) {
    const PageWords& words = memory_.words(page);
    const bool here = words.home.load(std::memory_order_relaxed) == my_home();
    if (mapped_.has(page) && !here && !words.is_valid()) stale.push_back(page);
  }
  std::sort(stale.begin(), stale.end());
  stale.erase(std::unique(stale.begin(), stale.end()), stale.end());
  for (const os::Pages& run : runs_of(stale)) must(trap_->unmap(run));
  counts_.unmapped_pages.add(stale.size());
  if (!stale.empty()) used_together_.begin_interval();
  for (const std::size_t page : stale) {
    mapped_.remove(page);
    watched_.remove(page);
    steady_.erase(page);
    const bool written = !planted(Bug::dirt_forgotten) && differs(memory_.page(page), memory_.twin(page));
    // After the comparison: a flush that made them equal holds the page until its home has acknowledged it.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const bool flushed = !planted(Bug::busy_not_asked) && protocol_->is_publishing(page);
    if (written || flushed) carry_.add(page);
  }
}

}  // namespace grapnel::dsm
