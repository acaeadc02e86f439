// SPDX-License-Identifier: Apache-2.0
#include "launch/node_mutex.hpp"

#include "base/units.hpp"

namespace grapnel::launch {
namespace {

constexpr int kSpins = 200;  // about the time that a holder needs; then the waiter sleeps
constexpr std::uint64_t kSleep_ns = 100 * base::kMillisecond_ns;

constexpr std::uint32_t kFree = 0;
constexpr std::uint32_t kHeld = 1;
constexpr std::uint32_t kHeldWithSleepers = 2;

}  // namespace

// The acquires pair with the release in `unlock`.
Result<NodeMutex::Guard> NodeMutex::lock() {
  for (int spin = 0; spin < kSpins; ++spin) {
    std::uint32_t expected = kFree;
    if (word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
      return Guard(*this);
    }
    host_.relax();
  }
  while (word_.exchange(kHeldWithSleepers, std::memory_order_acquire) != kFree) {
    GRAPNEL_TRY(launch_.health());
    host_.wait(word_, kHeldWithSleepers, kSleep_ns);
  }
  return Guard(*this);
}

void NodeMutex::unlock() {
  if (word_.exchange(kFree, std::memory_order_release) == kHeldWithSleepers) host_.wake(word_);
}

}  // namespace grapnel::launch
