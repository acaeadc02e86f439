// A point in time by which something must have happened, for the calls of this layer that wait on descriptors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

#include "base/units.hpp"
#include "os/clock.hpp"

namespace grapnel::os::internal {

inline timespec timespec_of(std::uint64_t duration_ns) {
  timespec result{};
  result.tv_sec = static_cast<time_t>(duration_ns / base::kSecond_ns);
  result.tv_nsec = static_cast<long>(duration_ns % base::kSecond_ns);
  return result;
}

class Deadline {
 public:
  explicit Deadline(std::uint64_t timeout_ns) {
    const std::uint64_t now = monotonic_ns();
    constexpr auto kForever = std::numeric_limits<std::uint64_t>::max();
    end_ns_ = timeout_ns > kForever - now ? kForever : now + timeout_ns;
  }

  std::uint64_t left_ns() const {
    const std::uint64_t now = monotonic_ns();
    return now < end_ns_ ? end_ns_ - now : 0;
  }
  bool passed() const { return left_ns() == 0; }

  /// True when `events` (or an error or the end) are there; false when the deadline passed. A signal does not end it.
  bool wait_for(int descriptor, short events) const {
    while (true) {
      pollfd entry{descriptor, events, 0};
      const timespec left = timespec_of(left_ns());
      const int ready = ::ppoll(&entry, 1, &left, nullptr);
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

  /// Sleeps for a moment; false when the deadline has passed.
  bool pause(std::uint64_t moment_ns) const {
    const std::uint64_t left = left_ns();
    if (left == 0) return false;
    const timespec moment = timespec_of(std::min(moment_ns, left));
    ::nanosleep(&moment, nullptr);  // a signal may end it early: the caller tries again anyway
    return true;
  }

 private:
  std::uint64_t end_ns_;
};

}  // namespace grapnel::os::internal
