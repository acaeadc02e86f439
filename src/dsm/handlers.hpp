// The server's side of the shared heap: what other nodes ask of this node's pages and words.
//
// It touches the alias only, never waits, and sends nothing. A request that is out of the heap's bounds, or comes
// before the heap is open, is refused and changes nothing.
//
// Threads: the server's, and `open` from the thread that opens the heap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "core/core.hpp"
#include "dsm/condition_queues.hpp"
#include "dsm/directory.hpp"
#include "dsm/heap_memory.hpp"
#include "dsm/home_twins.hpp"
#include "dsm/messages.hpp"
#include "dsm/node_log.hpp"
#include "dsm/page_allocator.hpp"
#include "dsm/records.hpp"
#include "progress/handlers.hpp"

namespace grapnel::dsm {

/// Answers with a copy, which lives until it has left: a page may change while it is sent.
inline void answer_with(progress::Request& request, ByteView body, std::unique_ptr<Bytes> payload) {
  const ByteView view = *payload;
  request.answer(body, view,
                 {[](void* context, const Status&) { delete static_cast<Bytes*>(context); }, payload.release()});
}

class Handlers {
 public:
  Handlers(core::Core& core, progress::HandlerId first);

  /// How the heap is kept.
  struct Options {
    HomeChoice homes{};
    bool moves = false;    ///< of homes
    bool reports = false;  ///< for a report, home pages have twins
  };
  /// From now on there is a heap: before any rank sends a request about it. `records`: with lrc.
  void open(const HeapMemory& memory, const std::optional<RecordMemory>& records, const Options& options);

 private:
  /// What the handlers work on.
  struct Served {
    Served(core::Core& core, const HeapMemory& heap, const std::optional<RecordMemory>& record_memory,
           const Options& options)
        : memory(heap),
          log(core.launch, core.host, memory),
          directory(memory, options.homes),
          allocator(memory),
          queues(memory),
          moves(options.moves) {
      if (record_memory) records.emplace(core, memory, *record_memory);
      if (options.reports) twins.emplace(heap, core.host);
    }
    HeapMemory memory;
    NodeLog log;
    Directory directory;
    PageAllocator allocator;
    std::optional<HomeTwins> twins;
    std::optional<Records> records;  ///< with lrc
    ConditionQueues queues;
    bool moves;  ///< of homes
  };
  /// Where a page is that a request of some era is about. `not_yet`: perhaps here, when this node has taken its step.
  enum class Place { here, not_yet, gone, nowhere };

  void add(progress::HandlerTable& table, progress::HandlerId first, Call call, const char* name,
           std::size_t least_body, std::size_t most_body, bool answers,
           progress::Outcome (*run)(Handlers&, Served&, progress::Request&));
  progress::Outcome fetch(Served& heap, progress::Request& request);
  progress::Outcome diffs(Served& heap, progress::Request& request);
  // With lrc: record_handlers.cpp
  void add_record_handlers(progress::HandlerTable& table, progress::HandlerId first);
  progress::Outcome records(Served& heap, progress::Request& request);
  bool are_wishes(const Served& heap, const RecordsBody& body) const;
  progress::Outcome keep(Served& heap, progress::Request& request);
  progress::Outcome whole(Served& heap, progress::Request& request);
  progress::Outcome condition(Served& heap, progress::Request& request);
  bool begin_twins(Served& heap, const FetchBody& body);
  bool apply(Served& heap, std::size_t page, ByteView diff);
  progress::Outcome homes(Served& heap, progress::Request& request);
  progress::Outcome place(Served& heap, progress::Request& request);
  std::size_t node_of(const progress::Request& request) const {
    return index(core_.launch.nodes().node_of[index(request.origin)]);
  }
  /// 0: it is the node's own; 1: it is behind a barrier whose step this node is about to take; -1: an older one.
  /// Nothing: an era that no rank can be in.
  std::optional<int> ahead(const Served& heap, std::uint32_t era) const;
  Place place_of(const Served& heap, std::size_t page, std::uint32_t era) const;
  bool has_left(const Served& heap, std::size_t page, std::uint32_t era, std::size_t to) const;
  Place place_of(const Served& heap, const FetchBody& body, std::size_t origin) const;
  Place place_of_diffs(const Served& heap, std::uint32_t era, ByteView records) const;

  core::Core& core_;
  std::unique_ptr<Served> served_;
  std::atomic<Served*> open_{nullptr};
};

}  // namespace grapnel::dsm
