// Where bulk payloads are landing in segments: whoever unmaps a segment waits until nothing lands there any more.
//
// A Pin cannot keep memory mapped for as long as a payload takes: its unmapper would keep the server, which must go on
// for the payload to land, from taking the next one. So the ranges are noted. An unmapper first withdraws his memory
// and waits until no Pin is held: what lands there then was noted before, under a Pin, and nothing is added. Landings
// in other segments do not delay him.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/units.hpp"
#include "os/host.hpp"

namespace grapnel::segment {

class Landings {
 public:
  explicit Landings(os::Host& host) : host_(host) {}
  Landings(const Landings&) = delete;
  Landings& operator=(const Landings&) = delete;

  /// Under a Pin.
  void begin(std::uintptr_t address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ranges_.push_back({address, address + bytes});
  }

  /// With what `begin` got.
  void end(std::uintptr_t address, std::size_t bytes) {
    bool awaited = false;
    {
      const std::lock_guard lock(mutex_);
      ranges_.erase(std::find(ranges_.begin(), ranges_.end(), Range{address, address + bytes}));
      awaited = awaited_;
      if (awaited) changes_.fetch_add(1, std::memory_order_relaxed);  // read under the mutex
    }
    if (awaited) host_.wake(changes_);
  }

  /// Returns when nothing lands in [begin, end), or when `gives_up()`. One thread at a time.
  template <typename GivesUp>
  void wait_until_clear(std::uintptr_t begin, std::uintptr_t end, GivesUp gives_up) {
    std::uint32_t seen = 0;
    while (is_landing(begin, end, seen) && !gives_up()) host_.wait(changes_, seen, 10 * base::kMillisecond_ns);
  }

 private:
  struct Range {
    std::uintptr_t begin, end;
    bool operator==(const Range&) const = default;
  };

  bool is_landing(std::uintptr_t begin, std::uintptr_t end, std::uint32_t& seen) {
    const std::lock_guard lock(mutex_);
    seen = changes_.load(std::memory_order_relaxed);
    awaited_ = std::any_of(ranges_.begin(), ranges_.end(),
                           [&](const Range& range) { return range.begin < end && begin < range.end; });
    return awaited_;
  }

  os::Host& host_;
  std::mutex mutex_;  ///< never held across a call of a Host
  std::vector<Range> ranges_;
  bool awaited_ = false;  ///< somebody waits for a range to go
  os::Word changes_{0};
};

}  // namespace grapnel::segment
