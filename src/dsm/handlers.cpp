// SPDX-License-Identifier: Apache-2.0
#include "dsm/handlers.hpp"

#include <algorithm>
#include <cstring>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "dsm/diff.hpp"
#include "dsm/moves.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {
namespace {

using progress::Outcome;
using progress::Request;

Outcome answer_notices(const NodeLog& log, Request& request) {
  const auto body = request.body_as<NoticesBody>();
  const NodeLog::Answer answer = log.notices_since(body.since, body.from_page, kMostRunsPerMessage);
  auto runs = std::make_unique<Bytes>(encode_runs(answer.runs));
  const NoticesReply reply{answer.latest, answer.next_page};
  answer_with(request, base::bytes_of(reply), std::move(runs));
  return Outcome::done;
}

}  // namespace

Handlers::Handlers(core::Core& core, progress::HandlerId first) : core_(core) {
  if (core.server == nullptr) return;
  progress::HandlerTable& table = core.server->handlers();
  add(table, first, Call::fetch, "fetch of pages", sizeof(FetchBody) - sizeof(FetchBody::pages), sizeof(FetchBody),
      true, [](Handlers& self, Served& heap, Request& request) { return self.fetch(heap, request); });
  add(table, first, Call::diffs, "diffs of pages", sizeof(DiffsBody), sizeof(DiffsBody), false,
      [](Handlers& self, Served& heap, Request& request) { return self.diffs(heap, request); });
  add(table, first, Call::notices, "question for write notices", sizeof(NoticesBody), sizeof(NoticesBody), true,
      [](Handlers&, Served& heap, Request& request) { return answer_notices(heap.log, request); });
  add(table, first, Call::homes, "question for pages' homes", sizeof(HomesBody), sizeof(HomesBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.homes(heap, request); });
  add(table, first, Call::place, "homes of pages", sizeof(PlaceBody), sizeof(PlaceBody), true,
      [](Handlers& self, Served& heap, Request& request) { return self.place(heap, request); });
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

void Handlers::open(const HeapMemory& memory, const std::optional<RecordMemory>& records, const Options& options) {
  served_ = std::make_unique<Served>(core_, memory, records, options);
  open_.store(served_.get(), std::memory_order_release);  // pairs with the handlers' look
}

// No rank is more than one barrier ahead, and that only where all ranks of this node have come to it.
std::optional<int> Handlers::ahead(const Served& heap, std::uint32_t era) const {
  const NodeWords& node = heap.memory.node();
  const std::uint32_t now = node.step_done.load(std::memory_order_acquire);
  const auto difference = static_cast<std::int32_t>(era - now);
  if (difference < 1) return difference == 0 ? 0 : -1;
  const std::size_t ranks = core_.launch.nodes().ranks_of[index(core_.launch.node())].size();
  if (difference > 1 || !node.has_arrived(now, ranks)) return std::nullopt;
  return 1;
}

// First the era, then the home: the step stores them the other way round. Where no rank here has asked for the home
// yet, the sender knows it from the directory. With lrc no page has a home.
Handlers::Place Handlers::place_of(const Served& heap, std::size_t page, std::uint32_t era) const {
  if (page >= heap.memory.page_count() || heap.records) return Place::nowhere;
  const auto newer = heap.moves ? ahead(heap, era) : 0;
  const std::uint32_t home = heap.memory.words(page).home.load(std::memory_order_acquire);
  if (!newer) return Place::nowhere;
  if (home == index(core_.launch.node()) + 1) return Place::here;
  if (*newer > 0) return planted(Bug::moved_not_awaited) ? Place::here : Place::not_yet;
  if (home == 0 || planted(Bug::moved_unknown)) return Place::here;
  return heap.moves ? Place::gone : Place::nowhere;
}

// What the new home asks for in its step: the content is here still, whether this node has taken its own or not.
bool Handlers::has_left(const Served& heap, std::size_t page, std::uint32_t era, std::size_t to) const {
  if (page >= heap.memory.page_count() || heap.records || !ahead(heap, era)) return false;
  const PageWords& words = heap.memory.words(page);
  const std::uint32_t home = words.home.load(std::memory_order_acquire);
  if (home == index(core_.launch.node()) + 1) return true;
  const Writers writers = Writers::of(words);
  return home == to + 1 && writers.moved == Writers::kLeft && writers.era == era;
}

// Of all the pages: one that is nowhere, else one that is not here yet, else one that is gone.
Handlers::Place Handlers::place_of(const Served& heap, const FetchBody& body, std::size_t origin) const {
  Place worst = Place::here;
  for (std::size_t i = 0; i < body.count; ++i) {
    const std::size_t page = body.pages[i];
    Place place = Place::here;
    if (body.moved == 0) {
      place = place_of(heap, page, body.era);
    } else if (!has_left(heap, page, body.era, origin)) {
      place = Place::nowhere;
    }
    if (place == Place::nowhere) return place;
    if (worst != Place::not_yet && place != Place::here) worst = place;
  }
  return worst;
}

// First all marks, then a full fence, then the looks: a rank that has written fences and then looks for marks, so
// either the copy has its write or the rank sees the mark (invariant 8 of docs/dsm.md).
Outcome Handlers::fetch(Served& heap, Request& request) {
  const auto body = request.body_as<FetchBody>();
  if (body.count == 0 || body.count > kMostFetched) return Outcome::refused;
  const Place place = place_of(heap, body, node_of(request));
  if (place == Place::nowhere) return Outcome::refused;
  if (place == Place::not_yet) return Outcome::retry;
  if (place == Place::gone) {
    request.answer({}, {});
    return Outcome::done;
  }
  if (heap.twins && !begin_twins(heap, body)) return Outcome::retry;
  const auto mark = [&] {
    for (std::size_t i = 0; i < body.count; ++i) heap.log.count_serve(body.pages[i]);
  };
  if (!planted(Bug::mark_after_look)) mark();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::size_t bytes = body.count * os::kPageBytes;
  auto pages = std::make_unique_for_overwrite<std::byte[]>(bytes);
  for (std::size_t i = 0; i < body.count; ++i) {
    std::byte* const to = pages.get() + i * os::kPageBytes;
    // What this node has not used yet is zero.
    if (heap.memory.is_used(body.pages[i])) {
      copy_page(to, heap.memory.page(body.pages[i]));
    } else {
      std::memset(to, 0, os::kPageBytes);
    }
  }
  if (planted(Bug::mark_after_look)) {
    os::Word never{0};
    core_.host.wait(never, 0, base::kMillisecond_ns);
    mark();
  }
  const ByteView view(pages.get(), bytes);
  request.answer({}, view,
                 {[](void* context, const Status&) { delete[] static_cast<std::byte*>(context); }, pages.release()});
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

// `nowhere`: they are no diffs of pages that are here, or may be.
Handlers::Place Handlers::place_of_diffs(const Served& heap, std::uint32_t era, ByteView records) const {
  Place worst = Place::here;
  base::Decoder in(records);
  while (!in.rest().empty()) {
    const auto header = in.get<DiffHeader>();
    const Place place = header ? place_of(heap, header->page, era) : Place::nowhere;
    if (place == Place::nowhere || place == Place::gone) return Place::nowhere;
    if (place == Place::not_yet) worst = place;
    const auto diff = in.get_bytes(header->bytes);
    if (!diff || !is_diff(*diff)) return Place::nowhere;
  }
  return worst;
}

progress::Outcome Handlers::diffs(Served& heap, progress::Request& request) {
  const auto body = request.body_as<DiffsBody>();
  const std::size_t node = node_of(request);
  if (request.resume == 0) {
    const Place place = place_of_diffs(heap, body.era, request.payload);
    if (place != Place::here) return place == Place::not_yet ? Outcome::retry : Outcome::refused;
  }
  base::Decoder in(request.payload.subspan(request.resume));
  while (!in.rest().empty()) {
    const auto header = *in.get<DiffHeader>();
    const ByteView diff = *in.get_bytes(header.bytes);
    const auto used = heap.memory.try_use_page(header.page);
    if (!used) core_.launch.abort(1, used.status().to_string());
    if (!*used) return Outcome::retry;
    if (!apply(heap, header.page, diff)) return Outcome::retry;
    note_diff(heap.memory, header.page, body.era, node);
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

// A rank of a newer era may be about to learn of a move that this node has not made yet.
Outcome Handlers::homes(Served& heap, Request& request) {
  const auto body = request.body_as<HomesBody>();
  if (body.page >= heap.memory.page_count() || heap.directory.keeper(body.page) != index(core_.launch.node())) {
    return Outcome::refused;
  }
  const auto newer = heap.moves ? ahead(heap, body.era) : 0;
  if (!newer) return Outcome::refused;
  if (*newer > 0 && !planted(Bug::moved_not_awaited)) return Outcome::retry;
  const HomesReply reply = heap.directory.look(body.page, node_of(request));
  request.answer(base::bytes_of(reply), {});
  return Outcome::done;
}

Outcome Handlers::place(Served& heap, Request& request) {
  const auto body = request.body_as<PlaceBody>();
  const std::size_t pages = heap.memory.page_count();
  if (body.page >= pages || body.count > pages - body.page || body.node >= heap.memory.node_count() ||
      !heap.directory.keeps({body.page, body.count}, index(core_.launch.node()))) {
    return Outcome::refused;
  }
  const auto placed = heap.directory.place({body.page, body.count}, body.node);
  const std::int64_t answer = static_cast<std::int64_t>(placed.others) << 32 | placed.first_other;
  request.answer(base::bytes_of(answer), {});
  return Outcome::done;
}

}  // namespace grapnel::dsm
