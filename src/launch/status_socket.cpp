// SPDX-License-Identifier: Apache-2.0
#include "launch/status_socket.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/random.hpp"
#include "base/units.hpp"
#include "os/clock.hpp"
#include "os/identity.hpp"

namespace grapnel::launch {
namespace {

// A process that connects and sends nothing holds the watcher so long.
constexpr std::uint64_t kRequest_ns = 50 * base::kMillisecond_ns;
constexpr std::uint64_t kAnswer_ns = 200 * base::kMillisecond_ns;
constexpr int kMostAtOnce = 16;  // then the watcher looks at its other news

std::optional<std::uint32_t> reporter_in(const Bytes& request) {
  std::uint32_t rank = 0;
  if (request.front() != kAskAndCover || request.size() != 1 + sizeof rank) return std::nullopt;
  std::memcpy(&rank, request.data() + 1, sizeof rank);
  return rank;
}

}  // namespace

std::uint64_t status_tag(std::uint64_t job_secret) { return base::Random(job_secret).next() >> 32; }

Result<std::unique_ptr<StatusSocket>> StatusSocket::open(std::uint64_t job_secret, Rank rank) {
  GRAPNEL_ASSIGN_OR_RETURN(
      auto listener, os::Listener::listen(fmt::format("{}{:08x}-{}-{}-{:016x}", kStatusPrefix, status_tag(job_secret),
                                                      index(rank), ::getpid(), os::random_u64())));
  os::Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Status(Code::system, fmt::format("creating an eventfd failed (errno {})", errno));
  return std::unique_ptr<StatusSocket>(new StatusSocket(std::move(listener), std::move(wake)));
}

StatusSocket::StatusSocket(os::Listener listener, os::Descriptor wake)
    : listener_(std::move(listener)), wake_(std::move(wake)) {}

void StatusSocket::use(StatusHooks hooks) {
  const std::lock_guard guard(mutex_);
  hooks_ = std::move(hooks);
  look_at_ns_.store(hooks_.look ? os::monotonic_ns() : 0, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
}

void StatusSocket::ask_for_report() const {
  report_asked_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
}

int StatusSocket::sleep_ms() const {
  const std::uint64_t at_ns = look_at_ns_.load(std::memory_order_relaxed), now = os::monotonic_ns();
  if (at_ns == 0) return -1;
  if (at_ns <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((at_ns - now) / base::kMillisecond_ns + 1, INT_MAX));
}

void StatusSocket::serve() {
  for (int served = 0; served < kMostAtOnce; ++served) {
    const auto connection = listener_.accept(0, os::Trust::root_too);
    if (!connection) return;
    const auto request = connection->receive(kRequest_ns);
    if (!request) continue;
    const std::lock_guard guard(mutex_);
    if (!hooks_.answer) continue;
    const Bytes answer = hooks_.answer(reporter_in(*request));
    for (ByteView rest = answer; !rest.empty();) {
      const ByteView packet = rest.first(std::min(rest.size(), os::kMaxPacketBytes));
      if (!connection->send(packet, kAnswer_ns).ok()) break;
      rest = rest.subspan(packet.size());
    }
  }
}

void StatusSocket::look() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.number(), &count, sizeof count);
  const std::lock_guard guard(mutex_);
  if (report_asked_.exchange(false, std::memory_order_relaxed) && hooks_.report) hooks_.report();
  if (!hooks_.look || os::monotonic_ns() < look_at_ns_.load(std::memory_order_relaxed)) return;
  const int pause_ms = hooks_.look();
  look_at_ns_.store(os::monotonic_ns() + static_cast<std::uint64_t>(pause_ms) * base::kMillisecond_ns,
                    std::memory_order_relaxed);
}

}  // namespace grapnel::launch
