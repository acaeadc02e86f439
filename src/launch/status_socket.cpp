#include "launch/status_socket.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/random.hpp"
#include "base/units.hpp"
#include "os/identity.hpp"

namespace grapnel::launch {
namespace {

// One who connects and says nothing holds the watcher so long.
constexpr std::uint64_t kRequest_ns = 50 * base::kMillisecond_ns;
constexpr std::uint64_t kAnswer_ns = 200 * base::kMillisecond_ns;

}  // namespace

std::uint64_t status_tag(std::uint64_t job_secret) { return base::Random(job_secret).next() >> 32; }

Result<std::unique_ptr<StatusSocket>> StatusSocket::open(std::uint64_t job_secret) {
  auto listener = os::Listener::listen(
      fmt::format("{}{:08x}-{}-{:016x}", kStatusPrefix, status_tag(job_secret), ::getpid(), os::random_u64()));
  if (!listener) return listener.status();
  os::Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return Status(Code::system, fmt::format("creating an eventfd failed (errno {})", errno));
  return std::unique_ptr<StatusSocket>(new StatusSocket(*std::move(listener), std::move(wake)));
}

StatusSocket::StatusSocket(os::Listener listener, os::Descriptor wake)
    : listener_(std::move(listener)), wake_(std::move(wake)) {}

void StatusSocket::use(StatusHooks hooks) {
  const std::lock_guard guard(mutex_);
  hooks_ = std::move(hooks);
  look_every_ms_.store(hooks_.look ? hooks_.look_every_ms : -1, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
}

void StatusSocket::ask_for_report() const {
  report_asked_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof one);
}

void StatusSocket::serve() {
  while (true) {
    const auto connection = listener_.accept(0, os::Trust::root_too);
    if (!connection) return;
    const auto request = connection->receive(kRequest_ns);
    if (!request) continue;
    const std::lock_guard guard(mutex_);
    if (!hooks_.answer) continue;
    const Bytes answer = hooks_.answer(request->front() == kAskAndCover);
    for (ByteView rest = answer; !rest.empty();) {
      const ByteView packet = rest.first(std::min(rest.size(), os::kMaxPacketBytes));
      if (!connection->send(packet, kAnswer_ns).ok()) break;
      rest = rest.subspan(packet.size());
    }
  }
}

void StatusSocket::look(bool woken) {
  std::uint64_t count = 0;
  if (woken) [[maybe_unused]]
    const auto got = ::read(wake_.number(), &count, sizeof count);
  const std::lock_guard guard(mutex_);
  if (report_asked_.exchange(false, std::memory_order_relaxed) && hooks_.report) hooks_.report();
  if (hooks_.look) hooks_.look();
}

}  // namespace grapnel::launch
