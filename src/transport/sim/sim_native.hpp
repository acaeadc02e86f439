// Native puts and gets of one simulated worker: memory operations that the target's processor knows nothing of.
//
// They are carried out inside the origin's `progress`, at a random time that the contract allows: a put between its
// departure and the end of the next flush, a get between its issue and its completion. Order among them is random.
//
// Threads: that of the worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "os/host.hpp"
#include "transport/sim/sim_network.hpp"

namespace grapnel::transport::sim {

/// Of the caller's bytes, to notice that a buffer was reused too early.
std::uint64_t hash_of(ByteView bytes);

/// One way of a native operation.
std::uint64_t native_travel_ns(const NetworkOptions& options, base::Random& random);

struct NativeOperation {
  Line* line = nullptr;
  bool is_put = false;
  bool departed = false;  ///< a put's payload has been copied
  bool owes_completion = false;
  ByteView source;  ///< put, until departed: the caller's
  std::uint64_t source_hash = 0;
  Bytes data;            ///< put, when departed
  ByteSpan destination;  ///< get: the caller's
  std::uintptr_t remote_address = 0;
  std::uint64_t region = 0;
  std::uint32_t holds = 0;
  std::uint64_t due_ns = kNever;
  std::uint64_t sequence = 0;
  Completion completion;

  std::size_t bytes() const { return is_put ? (departed ? data.size() : source.size()) : destination.size(); }
};

class NativeQueue {
 public:
  NativeQueue(SimNetwork& network, os::Host& host, base::Random& random)
      : network_(network), host_(host), random_(random) {}

  /// Errors: refused, when the memory is not registered.
  Result<Sent> start(NativeOperation operation, std::uint64_t now_ns);
  /// Departs and lands what is due. True when anything happened.
  bool progress(std::uint64_t now_ns);
  /// A flush began: puts that were waiting for one get a time to land.
  void hasten(const Line& line, std::uint64_t now_ns);
  bool has_puts(const Line& line, std::uint64_t up_to_sequence) const;
  void fail(const Line& line, const Status& why);
  /// When `progress` has something to do.
  std::uint64_t next_due_ns(std::uint64_t now_ns) const;

 private:
  void depart(NativeOperation& operation, std::uint64_t now_ns);
  void land(NativeOperation operation, std::uint64_t now_ns);
  bool copy_part(const NativeOperation& operation, std::size_t begin, std::size_t end);

  SimNetwork& network_;
  os::Host& host_;
  base::Random& random_;
  std::vector<NativeOperation> operations_;
};

}  // namespace grapnel::transport::sim
