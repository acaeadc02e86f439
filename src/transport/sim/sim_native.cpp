// SPDX-License-Identifier: Apache-2.0
#include "transport/sim/sim_native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace grapnel::transport::sim {
namespace {

constexpr int kPoison = 0xdb;  // what a get's buffer holds until the get is complete

// Fabrics move aligned words whole, and the other side may look at them with atomics.
template <typename Unit>
bool copy_whole(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto either = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if (bytes != sizeof(Unit) || either % sizeof(Unit) != 0) return false;
  const Unit value = __atomic_load_n(reinterpret_cast<const Unit*>(from), __ATOMIC_ACQUIRE);
  __atomic_store_n(reinterpret_cast<Unit*>(to), value, __ATOMIC_RELEASE);
  return true;
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (copy_whole<std::uint64_t>(to, from, bytes) || copy_whole<std::uint32_t>(to, from, bytes)) return;
  std::memcpy(to, from, bytes);
}

}  // namespace

std::uint64_t hash_of(ByteView bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ULL;
  return hash;
}

std::uint64_t native_travel_ns(const NetworkOptions& options, base::Random& random) {
  std::uint64_t time_ns = options.delay_ns + (options.jitter_ns ? random.between(0, options.jitter_ns) : 0);
  if (random.chance(options.reorder_probability)) time_ns += random.between(0, options.reorder_ns);
  return time_ns;
}

Result<Sent> NativeQueue::start(NativeOperation operation, std::uint64_t now_ns) {
  const bool registered =
      network_.with_region(operation.region, operation.remote_address, operation.bytes(), [](std::byte*) {});
  if (!registered) {
    return Status(Code::refused, fmt::format("native {} of {} bytes at {:#x} of rank {}: outside the registered memory",
                                             operation.is_put ? "put" : "get", operation.bytes(),
                                             operation.remote_address, index(operation.line->target->rank)));
  }
  Connection& connection = *operation.line->connection;
  (operation.is_put ? connection.puts : connection.gets).fetch_add(1, std::memory_order_relaxed);
  (operation.is_put ? connection.put_bytes : connection.get_bytes)
      .fetch_add(operation.bytes(), std::memory_order_relaxed);
  if (operation.bytes() == 0) return Sent::done;
  const bool held = random_.chance(network_.options().pending_probability);
  if (operation.is_put && !held) {
    depart(operation, now_ns);
    operations_.push_back(std::move(operation));
    return Sent::done;
  }
  operation.owes_completion = true;
  operation.holds = held ? static_cast<std::uint32_t>(random_.between(1, 3)) : 0;
  if (operation.is_put) {
    operation.source_hash = hash_of(operation.source);
  } else {
    operation.due_ns = now_ns + network_.options().delay_ns + native_travel_ns(network_.options(), random_);
    std::memset(operation.destination.data(), kPoison, operation.destination.size());
  }
  operations_.push_back(std::move(operation));
  return Sent::pending;
}

// The payload leaves the caller's buffer; it lands later, perhaps not before a flush.
void NativeQueue::depart(NativeOperation& operation, std::uint64_t now_ns) {
  if (operation.owes_completion) {
    GRAPNEL_CHECK(hash_of(operation.source) == operation.source_hash,
                  "the buffer of a pending put of {} bytes to rank {} was changed before its completion",
                  operation.source.size(), index(operation.line->target->rank));
  }
  operation.data.assign(operation.source.begin(), operation.source.end());
  operation.source = {};
  operation.departed = true;
  const bool lazy = !operation.line->flush && random_.chance(network_.options().lazy_put_probability);
  operation.due_ns = lazy ? kNever : now_ns + native_travel_ns(network_.options(), random_);
}

void NativeQueue::hasten(const Line& line, std::uint64_t now_ns) {
  for (NativeOperation& operation : operations_) {
    if (operation.line == &line && operation.departed && operation.due_ns == kNever) {
      operation.due_ns = now_ns + native_travel_ns(network_.options(), random_);
    }
  }
}

bool NativeQueue::has_puts(const Line& line, std::uint64_t up_to_sequence) const {
  return std::any_of(operations_.begin(), operations_.end(), [&](const NativeOperation& operation) {
    return operation.is_put && operation.line == &line && operation.sequence <= up_to_sequence;
  });
}

std::uint64_t NativeQueue::next_due_ns(std::uint64_t now_ns) const {
  std::uint64_t due_ns = kNever;
  for (const NativeOperation& operation : operations_) {
    due_ns = std::min(due_ns, operation.is_put && !operation.departed ? now_ns : operation.due_ns);
  }
  return due_ns;
}

bool NativeQueue::progress(std::uint64_t now_ns) {
  bool any = false;
  // By index: a completion may start further operations.
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (!operations_[i].is_put || operations_[i].departed || operations_[i].holds-- > 1) continue;
    depart(operations_[i], now_ns);
    any = true;
    if (std::exchange(operations_[i].owes_completion, false)) {
      const Completion completion = operations_[i].completion;
      if (completion.notify != nullptr) completion.notify(completion.context, Status{});
    }
  }
  for (;;) {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].due_ns <= now_ns) due.push_back(i);
    }
    if (due.empty()) return any;
    const auto chosen = operations_.begin() + static_cast<std::ptrdiff_t>(due[random_.below(due.size())]);
    NativeOperation operation = std::move(*chosen);
    operations_.erase(chosen);
    land(std::move(operation), now_ns);
    any = true;
  }
}

void NativeQueue::land(NativeOperation operation, std::uint64_t now_ns) {
  const std::size_t bytes = operation.bytes();
  // Torn at a word, never inside one.
  const std::size_t first = network_.options().tear_native && bytes >= 16 ? bytes / 16 * 8 : bytes;
  bool intact = copy_part(operation, 0, first);
  if (first < bytes) {
    host_.relax();  // a thread that looks at the memory now sees one half
    intact = copy_part(operation, first, bytes) && intact;
  }
  if (operation.is_put && operation.line->flush) {
    PendingFlush& flush = *operation.line->flush;
    flush.not_before_ns = std::max(flush.not_before_ns, now_ns + network_.options().delay_ns);
  }
  const Status outcome = intact ? Status{}
                                : Status(Code::refused, fmt::format("the memory at {:#x} was given back under a native "
                                                                    "operation of {} bytes",
                                                                    operation.remote_address, bytes));
  GRAPNEL_CHECK(intact || operation.owes_completion, "{}", outcome.message());
  if (operation.owes_completion && operation.completion.notify != nullptr) {
    operation.completion.notify(operation.completion.context, outcome);
  }
}

bool NativeQueue::copy_part(const NativeOperation& operation, std::size_t begin, std::size_t end) {
  const std::size_t bytes = end - begin;
  return network_.with_region(operation.region, operation.remote_address + begin, bytes, [&](std::byte* remote) {
    if (operation.is_put) {
      copy_bytes(remote, operation.data.data() + begin, bytes);
    } else {
      copy_bytes(operation.destination.data() + begin, remote, bytes);
    }
  });
}

void NativeQueue::fail(const Line& line, const Status& why) {
  std::vector<Completion> owed;
  std::erase_if(operations_, [&](const NativeOperation& operation) {
    if (operation.line != &line) return false;
    if (operation.owes_completion && operation.completion.notify != nullptr) owed.push_back(operation.completion);
    return true;
  });
  for (const Completion& completion : owed) completion.notify(completion.context, why);
}

}  // namespace grapnel::transport::sim
