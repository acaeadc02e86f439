// A miss: what this node has seen named and has not got, from the nodes that wrote it, all at once.
//
// The page's `busy` is held over the round trip, by ranks only; its `copy` only while the answers are merged. What the
// records change goes to page and twin, by bytes, as an answer of a home does: ranks of the node may write the page at
// this moment.
//
// A writer that has dropped its records answers that they are gone. Then the rank fetches the whole page from its
// keeper, with the keeper's `got`, and the caller looks again.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/lrc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "dsm/ask.hpp"
#include "dsm/diff.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {

// To one writer.
struct Lrc::Question {
  std::size_t node = 0;
  RecordsBody asked, left;             ///< all wishes; those that are not answered yet
  std::vector<std::uint64_t> dropped;  ///< pages
  std::vector<Bytes> answers;          ///< records
  bool done = false, refused = false;

  ByteView body() const { return base::bytes_of(left); }
  std::size_t reply_bytes() const { return kMostRecordsBytes; }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<Question*>(context);
    self.done = true;
    self.refused = reply.code != progress::ReplyCode::answer || reply.body.size() != sizeof(RecordsReply) ||
                   !self.take(reply.body_as<RecordsReply>(), reply.payload);
  }
  bool take(const RecordsReply& reply, ByteView records) {
    const bool is_progress = reply.answered > 0 || !records.empty();
    if (!is_progress || reply.answered > left.count || !are_records(records)) return false;
    for (std::size_t i = 0; i < reply.answered; ++i) {
      if ((reply.dropped >> i & 1) != 0) dropped.push_back(left.wishes[i].page);
    }
    std::copy(left.wishes.begin() + static_cast<std::ptrdiff_t>(reply.answered), left.wishes.end(),
              left.wishes.begin());
    left.count -= reply.answered;
    if (!records.empty()) answers.emplace_back(records.begin(), records.end());
    if (left.count == 0) return true;
    RecordsWish& next = left.wishes[0];
    if (reply.until <= next.since || reply.until > next.until) return false;
    next.until = reply.until;
    return true;
  }
  const RecordsWish* wish_for(std::uint64_t page) const {
    const auto* const end = asked.wishes.begin() + asked.count;
    const auto* const found =
        std::find_if(asked.wishes.begin(), end, [page](const RecordsWish& wish) { return wish.page == page; });
    return found != end ? found : nullptr;
  }
  bool are_records(ByteView bytes) const {
    base::Decoder in(bytes);
    while (!in.rest().empty()) {
      const auto header = in.get<RecordHeader>();
      const auto diff = header ? in.get_bytes(header->bytes) : std::nullopt;
      if (!diff || !is_diff(*diff)) return false;
      const RecordsWish* const wish = wish_for(header->page);
      if (wish == nullptr || header->last <= wish->since || header->first > header->last) return false;
      if (header->first > wish->until && !planted(Bug::records_not_asked_for)) return false;
    }
    return true;
  }
};

// What a page lacks, and what the questions brought of it.
struct Lrc::Missing {
  std::size_t page = 0;
  std::uint64_t wanted = 0;                                   ///< as of the questions
  std::vector<std::pair<std::size_t, std::uint64_t>> untils;  ///< by node: the interval that it is asked up to
};

struct Lrc::Fetch {
  std::vector<Missing> pages;
  std::vector<std::unique_ptr<Question>> questions;  ///< at most one to each node

  Question& question_to(std::size_t node) {
    for (const auto& one : questions) {
      if (one->node == node) return *one;
    }
    questions.push_back(std::make_unique<Question>());
    questions.back()->node = node;
    return *questions.back();
  }
  bool is_dropped(std::size_t page) const {
    return std::any_of(questions.begin(), questions.end(), [page](const auto& question) {
      return std::find(question->dropped.begin(), question->dropped.end(), page) != question->dropped.end();
    });
  }
};

Result<Lrc::Held> Lrc::Held::take(Lrc& lrc, std::size_t page) {
  GRAPNEL_TRY(lrc.records_.history(page).copy.take(lrc.core_.waiting, page));
  return Held(lrc, page);
}

Lrc::Held::~Held() {
  if (lrc_ != nullptr) lrc_->records_.history(page_).copy.give_back(lrc_->core_.host);
}

// A release sends nothing. For the report it notes what was written.
Status Lrc::publish(const std::vector<std::size_t>& pages, Heap::Taken&) {
  if (heap_.report_ == nullptr) return {};
  for (const std::size_t page : pages) GRAPNEL_TRY(report_write(page));
  return {};
}

// Of a page that concerns no other node yet, nothing is noted: one that no other node's interval names, and of which
// there was no record.
Status Lrc::report_write(std::size_t page) {
  bool is_shared = records_.history(page).made.load(std::memory_order_relaxed) != 0;
  for (std::size_t node = 0; node < memory_.node_count() && !is_shared; ++node) {
    is_shared = records_.memory().seen(page, node).load(std::memory_order_relaxed) != 0;
  }
  if (!is_shared) return {};
  alignas(kLineBytes) std::array<std::byte, os::kPageBytes> twin;
  std::array<std::byte, kMostDiffBytes> diff;
  std::size_t bytes = 0;
  {
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    std::memcpy(twin.data(), memory_.twin(page), twin.size());
    bytes = make_diff(memory_.page(page), twin.data(), diff.data());
  }
  if (bytes > 0) heap_.report_->add_write(page, ByteView(diff).first(bytes));
  return {};
}

// The first interval that no record holds stays the first until a record is made.
Status Lrc::name(const std::vector<std::size_t>& pages, std::uint64_t interval) {
  for (const std::size_t page : pages) {
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    PageHistory& history = records_.history(page);
    GRAPNEL_ASSERT(history.last.load() < interval, "interval {} names page {} after interval {}", interval, page,
                   history.last.load());
    if (history.first.load(std::memory_order_relaxed) == 0) history.first.store(interval, std::memory_order_relaxed);
    history.last.store(interval, std::memory_order_relaxed);
  }
  return {};
}

Result<bool> Lrc::take_notice(std::size_t page, std::size_t node, std::uint64_t interval) {
  // Only `name` makes it other than 0, under the mutex that the caller holds.
  const bool is_open = records_.history(page).first.load(std::memory_order_relaxed) != 0;
  if (is_open && !planted(Bug::notice_before_record)) {
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    GRAPNEL_TRY(records_.make(page, true).status());
  }
  std::atomic<std::uint64_t>& seen = records_.memory().seen(page, node);
  seen.store(std::max(seen.load(std::memory_order_relaxed), interval), std::memory_order_relaxed);
  return interval > records_.memory().got(page, node).load(std::memory_order_acquire);
}

Status Lrc::make_valid(std::size_t page) {
  PageWords& words = memory_.words(page);
  GRAPNEL_TRY(words.take(core_.waiting, page));
  Status fetched;
  if (!words.is_valid()) {
    const std::vector<std::size_t> pages = heap_.pages_to_fetch(page);
    fetched = fetch(pages);
    for (const std::size_t one : pages) {
      if (one != page) memory_.words(one).give_back(core_.host);
    }
  }
  words.give_back(core_.host);
  return fetched;
}

Status Lrc::fetch(const std::vector<std::size_t>& pages) {
  Fetch fetch;
  GRAPNEL_TRY(find_missing(fetch, pages));
  GRAPNEL_TRY(ask_writers(fetch));
  for (const Missing& missing : fetch.pages) {
    if (!fetch.is_dropped(missing.page)) {
      GRAPNEL_TRY(merge_records(fetch, missing));
    } else if (missing.page == pages[0]) {
      GRAPNEL_TRY(fetch_whole(missing.page));
    }
  }
  return {};
}

// Of one moment: what a page is asked for of one node may be later than what it is asked for of another.
Status Lrc::find_missing(Fetch& fetch, const std::vector<std::size_t>& pages) {
  GRAPNEL_ASSERT(pages.size() <= kMostFetched, "a question about {} pages; it has room for {}", pages.size(),
                 kMostFetched);
  for (const std::size_t page : pages) {
    GRAPNEL_TRY(memory_.use_page(page));
    GRAPNEL_TRY(memory_.use_twin(page));
  }
  const auto held = heap_.log_.lock();
  if (!held) return held.status();
  for (const std::size_t page : pages) {
    Missing& missing = fetch.pages.emplace_back();
    missing.page = page;
    missing.wanted = memory_.words(page).wanted.load(std::memory_order_relaxed);
    for (std::size_t node = 0; node < memory_.node_count(); ++node) {
      const std::uint64_t seen = records_.memory().seen(page, node).load(std::memory_order_relaxed);
      const std::uint64_t got = records_.memory().got(page, node).load(std::memory_order_relaxed);
      if (seen <= got) continue;
      RecordsBody& asked = fetch.question_to(node).asked;
      asked.wishes[asked.count++] = {page, got, seen};
      missing.untils.emplace_back(node, seen);
    }
  }
  return {};
}

Status Lrc::ask_writers(Fetch& fetch) {
  for (const auto& question : fetch.questions) question->left = question->asked;
  while (open_among(fetch.questions) > 0) {
    counts_.fetches.add(open_among(fetch.questions));
    GRAPNEL_TRY(ask_all(*core_.client, heap_.handler(Call::records), fetch.questions));
    for (const auto& question : fetch.questions) {
      if (question->refused) {
        heap_.disbelieve(fmt::format("node {} does not answer with what it wrote to page {}", question->node,
                                     question->asked.wishes[0].page));
      }
      question->done = question->left.count == 0;
    }
  }
  return {};
}

namespace {

struct Record {
  std::size_t node = 0;
  RecordHeader header;
  ByteView diff;
};

bool is_before(const Record& a, const Record& b) {
  return a.header.time != b.header.time ? a.header.time < b.header.time : a.node < b.node;
}

}  // namespace

Status Lrc::merge_records(const Fetch& fetch, const Missing& missing) {
  const std::size_t page = missing.page;
  std::vector<Record> records;
  for (const auto& question : fetch.questions) {
    for (const Bytes& answer : question->answers) {
      base::Decoder in(answer);
      while (!in.rest().empty()) {
        const auto header = *in.get<RecordHeader>();
        const ByteView diff = *in.get_bytes(header.bytes);
        if (header.page == page) records.push_back({question->node, header, diff});
      }
    }
  }
  GRAPNEL_ASSERT(memory_.words(page).busy.is_taken(), "page {} gets records and is not taken", page);
  std::sort(records.begin(), records.end(), is_before);
  if (planted(Bug::records_in_any_order)) std::reverse(records.begin(), records.end());
  {
    GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
    PageHistory& history = records_.history(page);
    alignas(kLineBytes) std::array<std::byte, os::kPageBytes> answer;
    std::memcpy(answer.data(), memory_.twin(page), answer.size());
    const auto raise = [](std::atomic<std::uint64_t>& word, std::uint64_t to) {
      if (word.load(std::memory_order_relaxed) < to) word.store(to, std::memory_order_release);
    };
    for (const Record& record : records) {
      apply_diff(answer.data(), record.diff);
      raise(history.time, record.header.time);
    }
    if (!records.empty()) merge(memory_.page(page), memory_.twin(page), answer.data());
    for (const auto& [node, until] : missing.untils) raise(records_.memory().got(page, node), until);
    // A record may reach beyond what was asked for.
    for (const Record& record : records) raise(records_.memory().got(page, record.node), record.header.last);
  }
  if (!missing.untils.empty()) {
    counts_.fetched_pages.add(1);
    if (heap_.report_ != nullptr) heap_.report_->add_records(page, records.size());
  }
  counts_.diffs.add(records.size());
  for (const Record& record : records) counts_.diff_bytes.add(record.header.bytes);
  memory_.words(page).have.store(missing.wanted + 1, std::memory_order_release);  // pairs with PageWords::is_valid
  return {};
}

struct Lrc::Whole {
  std::size_t node = 0, nodes = 0;
  WholeBody asked;
  Bytes content;  ///< what the keeper has got, by node; then the page
  std::uint64_t time = 0;
  bool done = false, refused = false;

  ByteView body() const { return base::bytes_of(asked); }
  std::size_t reply_bytes() const { return nodes * sizeof(std::uint64_t) + os::kPageBytes; }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<Whole*>(context);
    self.done = true;
    self.refused = reply.code != progress::ReplyCode::answer || reply.body.size() != sizeof(WholeReply) ||
                   reply.payload.size() != self.reply_bytes();
    if (self.refused) return;
    self.time = reply.body_as<WholeReply>().time;
    self.content.assign(reply.payload.begin(), reply.payload.end());
  }
};

// What is newer in it than what this node knows does no harm: what this node learns of is merged after it.
Status Lrc::fetch_whole(std::size_t page) {
  const std::size_t nodes = memory_.node_count(), keeper = keeper_of(page, nodes);
  if (keeper == heap_.me_) heap_.disbelieve(fmt::format("records of page {}, which is kept here, are gone", page));
  auto whole = std::make_unique<Whole>();
  whole->node = keeper;
  whole->nodes = nodes;
  whole->asked.page = page;
  counts_.fetches.add(1);
  GRAPNEL_TRY(ask(*core_.client, heap_.handler(Call::whole), whole));
  counts_.fetched_pages.add(1);
  if (heap_.report_ != nullptr) heap_.report_->add_records(page, 0);
  if (whole->refused) heap_.disbelieve(fmt::format("node {} does not answer with page {}, its own", keeper, page));
  GRAPNEL_ASSIGN_OR_RETURN(const Held held, Held::take(*this, page));
  merge(memory_.page(page), memory_.twin(page), whole->content.data() + nodes * sizeof(std::uint64_t));
  for (std::size_t node = 0; node < nodes; ++node) {
    std::uint64_t keepers;
    std::memcpy(&keepers, whole->content.data() + node * sizeof keepers, sizeof keepers);
    std::atomic<std::uint64_t>& got = records_.memory().got(page, node);
    if (node != heap_.me_) got.store(std::max(got.load(std::memory_order_relaxed), keepers), std::memory_order_release);
  }
  PageHistory& history = records_.history(page);
  history.time.store(std::max(history.time.load(std::memory_order_relaxed), whole->time), std::memory_order_relaxed);
  return {};
}

}  // namespace grapnel::dsm
