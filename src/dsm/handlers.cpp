// SPDX-License-Identifier: Apache-2.0
#include "dsm/handlers.hpp"

#include <algorithm>
#include <cstring>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "dsm/diff.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {
namespace {

using progress::Outcome;
using progress::Request;

Outcome answer_notices(const NodeLog& log, Request& request) {
  const auto body = request.body_as<NoticesBody>();
  const NodeLog::Answer answer = log.notices_since(body.since, body.from_page, kMostRunsTold);
  auto runs = std::make_unique<Bytes>(answer.runs.size() * sizeof(PageRun));
  for (std::size_t i = 0; i < answer.runs.size(); ++i) {
    const PageRun run{static_cast<std::uint32_t>(answer.runs[i].first),
                      static_cast<std::uint32_t>(answer.runs[i].count)};
    std::memcpy(runs->data() + i * sizeof run, &run, sizeof run);
  }
  const NoticesReply reply{answer.latest, answer.next_page};
  answer_with(request, base::bytes_of(reply), std::move(runs));
  return Outcome::done;
}

}  // namespace

Handlers::Handlers(core::Core& core, progress::HandlerId first) : core_(core) {
  if (core.server == nullptr) return;
  progress::HandlerTable& table = core.server->handlers();
  add(table, first, Call::fetch, "fetch of pages", sizeof(std::uint32_t), sizeof(FetchBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.fetch(heap, request); });
  add(table, first, Call::diffs, "diffs of pages", 0, 0, false,
      [](Handlers& self, Served& heap, Request& request) { return self.diffs(heap, request); });
  add(table, first, Call::notices, "question for write notices", sizeof(NoticesBody), sizeof(NoticesBody), true,
      [](Handlers&, Served& heap, Request& request) { return answer_notices(heap.log, request); });
  add(table, first, Call::homes, "question for pages' homes", sizeof(HomesBody), sizeof(HomesBody), true,
      [](Handlers& self, Served& heap, Request& request) {
        const auto body = request.body_as<HomesBody>();
        if (body.page >= heap.memory.page_count() ||
            heap.directory.keeper(body.page) != index(self.core_.launch.node())) {
          return Outcome::refused;
        }
        const NodeId node = self.core_.launch.nodes().node_of[index(request.origin)];
        const HomesReply reply = heap.directory.look(body.page, index(node));
        request.answer(base::bytes_of(reply), {});
        return Outcome::done;
      });
  add(table, first, Call::memory, "question for pages of the shared heap", sizeof(MemoryBody), sizeof(MemoryBody), true,
      [](Handlers& self, Served& heap, Request& request) {
        const auto body = request.body_as<MemoryBody>();
        if (index(self.core_.launch.node()) != 0) return Outcome::refused;
        const auto answer = body.wish == MemoryWish::free
                                ? heap.allocator.try_free(body.page)
                                : heap.allocator.try_allocate(body.pages, body.wish == MemoryWish::chunk);
        if (!answer) return Outcome::retry;
        request.answer(base::bytes_of(*answer), {});
        return Outcome::done;
      });
  add_record_handlers(table, first);
  add(table, first, Call::condition, "question about a condition", sizeof(ConditionBody), sizeof(ConditionBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.condition(heap, request); });
  add(table, first, Call::wake, "wake-up of a waiter", sizeof(WakeBody), sizeof(WakeBody), false,
      [](Handlers& self, Served& heap, Request& request) {
        const auto body = request.body_as<WakeBody>();
        const auto& node_of = self.core_.launch.nodes().node_of;
        const bool is_here = body.rank < node_of.size() && node_of[body.rank] == self.core_.launch.node() &&
                             body.condition < heap.memory.condition_count();
        return is_here && wake_waiter(heap.memory, self.core_.host, body) ? Outcome::done : Outcome::refused;
      });
}

void Handlers::add(progress::HandlerTable& table, progress::HandlerId first, Call call, const char* name,
                   std::size_t least_body, std::size_t most_body, bool answers,
                   Outcome (*run)(Handlers&, Served&, Request&)) {
  table.add(handler_of(first, call), {name, least_body, most_body, answers, [this, run](Request& request) {
                                        Served* const heap = open_.load(std::memory_order_acquire);
                                        return heap != nullptr ? run(*this, *heap, request) : Outcome::refused;
                                      }});
}

void Handlers::open(const HeapMemory& memory, const std::optional<RecordMemory>& records, HomeChoice homes,
                    bool reports) {
  served_ = std::make_unique<Served>(core_, memory, records, homes, reports);
  open_.store(served_.get(), std::memory_order_release);  // pairs with the handlers' look
}

// First all marks, then a full fence, then the looks: a rank that has written fences and then looks for marks, so
// either the copy has its write or the rank sees the mark (invariant 8 of docs/dsm.md).
Outcome Handlers::fetch(Served& heap, Request& request) {
  const auto body = request.body_as<FetchBody>();
  if (body.count == 0 || body.count > kMostFetched) return Outcome::refused;
  for (std::size_t i = 0; i < body.count; ++i) {
    if (!may_be_here(heap, body.pages[i])) return Outcome::refused;
  }
  if (heap.twins && !begin_twins(heap, body)) return Outcome::retry;
  const auto mark = [&] {
    for (std::size_t i = 0; i < body.count; ++i) heap.log.count_serve(body.pages[i]);
  };
  if (!planted(Bug::mark_after_look)) mark();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto pages = std::make_unique<Bytes>(body.count * os::kPageBytes);
  for (std::size_t i = 0; i < body.count; ++i) {
    // What this node has not used yet is zero.
    if (!heap.memory.is_used(body.pages[i])) continue;
    copy_page(pages->data() + i * os::kPageBytes, heap.memory.page(body.pages[i]));
  }
  if (planted(Bug::mark_after_look)) {
    os::Word never{0};
    core_.host.wait(never, 0, base::kMillisecond_ns);
    mark();
  }
  answer_with(request, {}, std::move(pages));
  return Outcome::done;
}

// False: a rank is at one of them.
bool Handlers::begin_twins(Served& heap, const FetchBody& body) {
  for (std::size_t i = 0; i < body.count; ++i) {
    const auto begun = heap.twins->try_begin(body.pages[i]);
    if (!begun) core_.launch.abort(1, begun.status().to_string());
    if (!*begun) return false;
  }
  return true;
}

// False: a rank is at the page, which it is for a report only.
bool Handlers::apply(Served& heap, std::size_t page, ByteView diff) {
  if (!heap.twins) {
    apply_diff(heap.memory.page(page), diff);
    return true;
  }
  const auto applied = heap.twins->try_apply(page, diff);
  if (!applied) core_.launch.abort(1, applied.status().to_string());
  return *applied;
}

// Where no rank here has asked for the home yet, the sender knows it from the directory. With lrc no page has one.
bool Handlers::may_be_here(const Served& heap, std::size_t page) const {
  if (page >= heap.memory.page_count() || heap.records) return false;
  const std::uint32_t home = heap.memory.words(page).home.load(std::memory_order_relaxed);
  return home == 0 || home == index(core_.launch.node()) + 1;
}

bool Handlers::are_diffs(const Served& heap, ByteView records) const {
  base::Decoder in(records);
  while (!in.rest().empty()) {
    const auto header = in.get<DiffHeader>();
    if (!header || !may_be_here(heap, header->page)) return false;
    const auto diff = in.get_bytes(header->bytes);
    if (!diff || !is_diff(*diff)) return false;
  }
  return true;
}

progress::Outcome Handlers::diffs(Served& heap, progress::Request& request) {
  if (request.resume == 0 && !are_diffs(heap, request.payload)) return Outcome::refused;
  base::Decoder in(request.payload.subspan(request.resume));
  while (!in.rest().empty()) {
    const auto header = *in.get<DiffHeader>();
    const ByteView diff = *in.get_bytes(header.bytes);
    const auto used = heap.memory.try_use_page(header.page);
    if (!used) core_.launch.abort(1, used.status().to_string());
    if (!*used) return Outcome::retry;
    if (!apply(heap, header.page, diff)) return Outcome::retry;
    request.resume = request.payload.size() - in.rest().size();
  }
  return Outcome::done;
}

progress::Outcome Handlers::condition(Served& heap, progress::Request& request) {
  const auto body = request.body_as<ConditionBody>();
  if (!heap.queues.is_kept_here(body, index(core_.launch.node()))) return Outcome::refused;
  const auto answer = heap.queues.try_do(body, static_cast<std::uint32_t>(index(request.origin)));
  if (!answer) return Outcome::retry;
  if (answer->refused) return Outcome::refused;
  const ByteView ranks = std::as_bytes(std::span(answer->ranks));
  const ConditionReply reply{answer->other_lock};
  answer_with(request, base::bytes_of(reply), std::make_unique<Bytes>(ranks.begin(), ranks.end()));
  return Outcome::done;
}

}  // namespace grapnel::dsm
