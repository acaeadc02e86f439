// What the node's server does for remote ranks: the operations on this node's memory, one function each.
//
// Every handler checks its addresses against the segments before it touches anything, works on at most one chunk, and
// never waits: bulk data lands at the handler's place while it does other work; an accumulate that meets a taken stripe
// remembers how far it came and is tried again. Threads: the server's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "progress/handlers.hpp"
#include "progress/waiting.hpp"
#include "rma/internal/lent_memory.hpp"
#include "rma/internal/runs.hpp"
#include "rma/messages.hpp"
#include "rma/stripes.hpp"
#include "segment/segment.hpp"

namespace grapnel::rma {

class Handlers {
 public:
  /// In a job of `ranks` ranks.
  Handlers(segment::SegmentTable& segments, progress::Waiting& waiting, Stripes& stripes, segment::Lent& lent,
           int ranks)
      : segments_(segments), waiting_(waiting), stripes_(stripes), lent_(lent, segments, {}), ranks_(ranks) {}

  /// Registers them all; this object outlives the server.
  void add_to(progress::HandlerTable& table);

 private:
  using Outcome = progress::Outcome;
  using Request = progress::Request;

  Outcome put(Request& request);
  ByteSpan place_of_put(Request& request);
  Outcome get(Request& request);
  Outcome accumulate(Request& request);
  Outcome put_strided(Request& request);
  Outcome get_strided(Request& request);
  Outcome accumulate_strided(Request& request);
  Outcome put_vector(Request& request);
  Outcome get_vector(Request& request);
  Outcome accumulate_vector(Request& request);
  Outcome read_modify_write(Request& request);
  // update_handlers.cpp
  Outcome update(Request& request);
  Outcome fetching_update(Request& request);
  Outcome compare(Request& request);
  std::optional<Reduction> kernel_of_update(const UpdateBody& body) const;
  // part_handlers.cpp
  Outcome put_lent(Request& request);
  Outcome get_lent(Request& request);
  Outcome update_vector(Request& request);
  Outcome fetching_update_vector(Request& request);
  Outcome compare_lent(Request& request);
  Outcome copies(Request& request);
  std::span<const VectorRun> read_parts(const PartsBody& body, ByteView in, std::size_t element_bytes);
  Status update_elements(const PartsBody& body, const Reduction& kernel, std::byte* target, const std::byte* source,
                         std::size_t bytes);
  Status fetch_lent(const PartsBody& body, const Reduction& kernel, std::span<const VectorRun> runs,
                    const std::byte* operands, Bytes& old_elements);
  std::uint64_t space_of(std::int64_t owner, std::uint64_t address) const;
  bool is_rank(std::int64_t owner) const { return owner >= 0 && owner < ranks_; }
  /// Of a sound update; else nothing.
  static std::optional<Reduction> known_kernel(const Update& update);

  Outcome put_signal(Request& request);
  Outcome put_strided_signal(Request& request);
  Outcome locate(Request& request);

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return segments_.contains(reinterpret_cast<const void*>(address), bytes);
  }
  /// And the processor may update it (grapnel/atomic_domain.hpp).
  bool holds_for_updates(std::uint64_t address, std::uint64_t bytes) const {
    return segments_.reach().contains_for_updates(reinterpret_cast<const void*>(address), bytes);
  }
  /// The shape is sound, its memory lies in one segment, and the message's part lies in the shape.
  bool holds(const StridedBody& body) const;
  bool holds(const Signal& signal) const {
    return signal.address % sizeof(std::int32_t) == 0 && holds(signal.address, sizeof(std::int32_t));
  }
  /// The runs, until the next message's: sound, of memory of which `held(address, bytes)` is true, of lengths that add
  /// up to `data_bytes`; else none.
  template <typename Held>
  std::span<const VectorRun> read_runs(std::uint64_t base, std::uint64_t data_bytes, ByteView in,
                                       std::size_t element_bytes, Held held) {
    runs_.clear();
    if (data_bytes > transport::kMaxPayloadBytes) return {};
    std::uint64_t left = data_bytes;
    RunReader reader(in, base);
    for (VectorRun run; left > 0; left -= run.bytes) {
      if (!reader.next(run) || run.bytes > left || run.bytes % element_bytes != 0 || !held(run.address, run.bytes)) {
        return {};
      }
      runs_.push_back(run);
    }
    if (!reader.at_end()) return {};
    return runs_;
  }
  /// In segments.
  std::span<const VectorRun> read_runs(const VectorBody& body, ByteView in, std::size_t element_bytes);
  /// A packed answer, alive until it has left.
  static void answer_packed(Request& request, std::unique_ptr<Bytes> data);
  void add(progress::HandlerTable& table, progress::HandlerId id, const char* name, std::size_t body_bytes,
           bool answers, Outcome (Handlers::*run)(Request&));

  segment::SegmentTable& segments_;
  progress::Waiting& waiting_;
  Stripes& stripes_;
  const LentMemory lent_;
  const int ranks_;
  std::vector<VectorRun> runs_;  ///< `read_runs`'s; at most one for each byte of kMaxPayloadBytes, so 2 MiB
};

}  // namespace grapnel::rma
