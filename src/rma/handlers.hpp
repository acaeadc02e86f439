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
#include "rma/internal/runs.hpp"
#include "rma/messages.hpp"
#include "rma/stripes.hpp"
#include "segment/segment.hpp"

namespace grapnel::rma {

class Handlers {
 public:
  Handlers(segment::SegmentTable& segments, progress::Waiting& waiting, Stripes& stripes)
      : segments_(segments), waiting_(waiting), stripes_(stripes) {}

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
  Outcome put_signal(Request& request);
  Outcome put_strided_signal(Request& request);
  Outcome locate(Request& request);

  bool holds(std::uint64_t address, std::uint64_t bytes) const {
    return segments_.contains(reinterpret_cast<const void*>(address), bytes);
  }
  /// The shape is sound, its memory lies in one segment, and the message's part lies in the shape.
  bool holds(const StridedBody& body) const;
  bool holds(const Signal& signal) const {
    return signal.address % sizeof(std::int32_t) == 0 && holds(signal.address, sizeof(std::int32_t));
  }
  /// The runs, until the next message's: sound, in segments, of lengths that add up to the data's; else none.
  std::span<const VectorRun> read_runs(const VectorBody& body, ByteView in, std::size_t element_bytes);
  /// A packed answer, alive until it has left.
  static void answer_packed(Request& request, std::unique_ptr<Bytes> data);
  void add(progress::HandlerTable& table, progress::HandlerId id, const char* name, std::size_t body_bytes,
           bool answers, Outcome (Handlers::*run)(Request&));

  segment::SegmentTable& segments_;
  progress::Waiting& waiting_;
  Stripes& stripes_;
  std::vector<VectorRun> runs_;  ///< `read_runs`'s; at most one for each byte of kMaxPayloadBytes, so 2 MiB
};

}  // namespace grapnel::rma
