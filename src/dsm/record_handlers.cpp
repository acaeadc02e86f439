// The server's side of lrc: what other nodes ask of this node's records.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "base/codec.hpp"
#include "dsm/diff.hpp"
#include "dsm/handlers.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {

using progress::Outcome;
using progress::Request;

namespace {

// A page's `copy`, where it is free.
class Tried {
 public:
  Tried(os::Host& host, PageLock& lock) : host_(host), lock_(lock), has_(lock.try_take()) {}
  ~Tried() {
    if (has_) lock_.give_back(host_);
  }
  Tried(const Tried&) = delete;
  Tried& operator=(const Tried&) = delete;
  bool has() const { return has_; }

 private:
  os::Host& host_;
  PageLock& lock_;
  const bool has_;
};

}  // namespace

void Handlers::add_record_handlers(progress::HandlerTable& table, progress::HandlerId first) {
  add(table, first, Call::records, "question for records of pages", sizeof(RecordsBody), sizeof(RecordsBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.records(heap, request); });
  add(table, first, Call::keep, "pages to keep", 0, 0, false,
      [](Handlers& self, Served& heap, Request& request) { return self.keep(heap, request); });
  add(table, first, Call::whole, "fetch of a page that is kept", sizeof(WholeBody), sizeof(WholeBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.whole(heap, request); });
}

// No node knows an interval that this one has not made.
bool Handlers::are_wishes(const Served& heap, const RecordsBody& body) const {
  if (!heap.records || body.count == 0 || body.count > kMostFetched) return false;
  const std::uint64_t latest = heap.log.known(index(core_.launch.node()));
  for (std::size_t i = 0; i < body.count; ++i) {
    const RecordsWish& wish = body.wishes[i];
    if (wish.page >= heap.memory.page_count() || wish.since >= wish.until || wish.until > latest) return false;
  }
  return true;
}

Outcome Handlers::records(Served& heap, Request& request) {
  const auto body = request.body_as<RecordsBody>();
  if (!are_wishes(heap, body)) return Outcome::refused;
  RecordsReply reply;
  auto answer = std::make_unique<Bytes>();
  for (; reply.answered < body.count; ++reply.answered) {
    const RecordsWish& wish = body.wishes[reply.answered];
    PageHistory& history = heap.records->history(wish.page);
    const Tried copy(core_.host, history.copy);
    if (!copy.has()) return Outcome::retry;
    const std::uint64_t last = history.last.load(std::memory_order_relaxed);
    if (planted(Bug::record_without_interval) && last != 0) history.first.store(last, std::memory_order_relaxed);
    const std::uint64_t first = history.first.load(std::memory_order_relaxed);
    if (first != 0 && first <= wish.until) {
      const auto made = heap.records->make(wish.page, false);
      if (!made) core_.launch.abort(1, made.status().to_string());
      if (!*made) return Outcome::retry;
    }
    if (wish.since < history.dropped.load(std::memory_order_relaxed) && !planted(Bug::dropped_and_silent)) {
      reply.dropped |= std::uint64_t{1} << reply.answered;
      continue;
    }
    reply.until = heap.records->append(wish.page, wish.since, wish.until, *answer, kMostRecordsBytes);
    if (reply.until != 0) break;
  }
  answer_with(request, base::bytes_of(reply), std::move(answer));
  return Outcome::done;
}

Outcome Handlers::keep(Served& heap, Request& request) {
  if (!heap.records || request.payload.size() % sizeof(PageRun) != 0) return Outcome::refused;
  const std::size_t nodes = heap.memory.node_count(), me = index(core_.launch.node());
  const auto for_each = [&](auto visit) {
    base::Decoder in(request.payload);
    std::size_t end = 0;  // they ascend, so that none is visited twice
    for (auto run = in.get<PageRun>(); run; run = in.get<PageRun>()) {
      if (run->first < end || run->count > heap.memory.page_count() ||
          run->first > heap.memory.page_count() - run->count) {
        return false;
      }
      end = std::size_t{run->first} + run->count;
      for (std::size_t page = run->first; page < end; ++page) {
        if (!visit(page)) return false;
      }
    }
    return true;
  };
  if (!for_each([&](std::size_t page) { return keeper_of(page, nodes) == me; })) return Outcome::refused;
  for_each([&](std::size_t page) {
    heap.records->history(page).collect.fetch_or(Records::kKept, std::memory_order_relaxed);
    return true;
  });
  return Outcome::done;
}

// What was written here and is in no record yet may be in it: it comes again with its record.
Outcome Handlers::whole(Served& heap, Request& request) {
  const auto page = request.body_as<WholeBody>().page;
  const std::size_t nodes = heap.memory.node_count(), me = index(core_.launch.node());
  if (!heap.records || page >= heap.memory.page_count() || keeper_of(page, nodes) != me) return Outcome::refused;
  if (heap.memory.words(page).is_absent()) return Outcome::refused;
  PageHistory& history = heap.records->history(page);
  const Tried copy(core_.host, history.copy);
  if (!copy.has()) return Outcome::retry;
  auto answer = std::make_unique<Bytes>(nodes * sizeof(std::uint64_t) + os::kPageBytes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint64_t got = node == me ? history.made.load(std::memory_order_relaxed)
                                         : heap.records->memory().got(page, node).load(std::memory_order_relaxed);
    std::memcpy(answer->data() + node * sizeof got, &got, sizeof got);
  }
  copy_page(answer->data() + nodes * sizeof(std::uint64_t), heap.memory.page(page));
  const WholeReply reply{history.time.load(std::memory_order_relaxed)};
  answer_with(request, base::bytes_of(reply), std::move(answer));
  return Outcome::done;
}

}  // namespace grapnel::dsm
