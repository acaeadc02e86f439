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

  /// From now on there is a heap: before any rank sends a request about it.
  /// `reports`: for a report, home pages have twins.
  void open(const HeapMemory& memory, const std::optional<RecordMemory>& records, HomeChoice homes, bool reports);

 private:
  /// What the handlers work on.
  struct Served {
    Served(core::Core& core, const HeapMemory& heap, const std::optional<RecordMemory>& record_memory, HomeChoice homes,
           bool reports)
        : memory(heap),
          log(core.launch, core.host, memory),
          directory(memory, homes),
          allocator(memory),
          queues(memory) {
      if (record_memory) records.emplace(core, memory, *record_memory);
      if (reports) twins.emplace(heap, core.host);
    }
    HeapMemory memory;
    NodeLog log;
    Directory directory;
    PageAllocator allocator;
    std::optional<HomeTwins> twins;
    std::optional<Records> records;  ///< with lrc
    ConditionQueues queues;
  };

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
  bool may_be_here(const Served& heap, std::size_t page) const;
  bool begin_twins(Served& heap, const FetchBody& body);
  bool apply(Served& heap, std::size_t page, ByteView diff);
  bool are_diffs(const Served& heap, ByteView records) const;

  core::Core& core_;
  std::unique_ptr<Served> served_;
  std::atomic<Served*> open_{nullptr};
};

}  // namespace grapnel::dsm
