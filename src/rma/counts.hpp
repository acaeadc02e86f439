// How many operations and bytes went which way. Kept per rank, without locks: a store per count on the hot path.
#pragma once

#include <atomic>
#include <cstdint>

namespace grapnel::rma {

enum class OperationKind { put, get, accumulate, rmw };
inline constexpr int kOperationKinds = 4;

/// Plain loads and stores of atomics: two threads that count at once may lose one, none may tear.
class Count {
 public:
  void add(std::uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct OperationCounts {
  Count shared_operations, shared_bytes, wire_operations, wire_bytes, wire_messages;
};

/// Fences that had to ask, and what they sent and were sent: a question and an answer per dirty node.
struct FenceCounts {
  Count fences, messages;
};

}  // namespace grapnel::rma
