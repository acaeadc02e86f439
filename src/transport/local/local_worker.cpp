// SPDX-License-Identifier: Apache-2.0
#include "transport/local/local_worker.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "base/check.hpp"
#include "os/byte_stream.hpp"
#include "os/clock.hpp"
#include "transport/local/local_events.hpp"

namespace grapnel::transport::local {
namespace {

constexpr std::uint64_t kDrainLimit_ns = 200 * base::kMillisecond_ns;
constexpr int kEventsAtOnce = 32;

}  // namespace

LocalWorker::LocalWorker(std::uint64_t secret, MessageSink& sink)
    : sink_(sink), secret_(secret), door_(secret, [this](os::Descriptor socket) { admit(std::move(socket)); }) {}

Result<std::unique_ptr<Worker>> LocalWorker::create(std::uint64_t secret, MessageSink& sink) {
  std::unique_ptr<LocalWorker> worker(new LocalWorker(secret, sink));
  GRAPNEL_TRY(worker->open());
  return std::unique_ptr<Worker>(std::move(worker));
}

Status LocalWorker::open() {
  epoll_ = os::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return os::descriptor_error("creating an epoll descriptor", errno);
  wake_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return os::descriptor_error("creating an event descriptor", errno);
  epoll_event event = event_of(EPOLLIN, Source::wake);
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, wake_.number(), &event) != 0) {
    return os::descriptor_error("watching an event descriptor (epoll_ctl)", errno);
  }
  dozer_ = os::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  event = {.events = EPOLLIN, .data = {}};
  if (!dozer_.valid() || ::epoll_ctl(dozer_.number(), EPOLL_CTL_ADD, epoll_.number(), &event) != 0) {
    return os::descriptor_error("creating an epoll descriptor for sleeps", errno);
  }
  buffer_.reset(new std::byte[kReadBytes]);
  return door_.open(epoll_.number());
}

LocalWorker::~LocalWorker() {
  closing_ = true;
  bool landing = false;
  for (const auto& connection : connections_) {
    std::vector<Arrival*> offered;
    for (const auto& [number, arrival] : connection->arrivals) {
      if (arrival->state == Arrival::State::offered) offered.push_back(arrival);
      landing |= arrival->state == Arrival::State::landing;
    }
    for (Arrival* arrival : offered) decline({arrival});
  }
  // A bulk payload that is landing has been given up by its owner: its memory must not be written any more.
  if (epoll_.valid() && !landing) drain(kDrainLimit_ns);
  for (const auto& connection : connections_) {
    fail(*connection, Status(Code::peer_dead, "the worker was closed before the operation ended"));
  }
  tell_what_ended();
}

void LocalWorker::drain(std::uint64_t limit_ns) {
  const std::uint64_t until_ns = os::monotonic_ns() + limit_ns;
  const auto all_left = [this] {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const auto& one) { return !one->failure.ok() || one->has_left(); });
  };
  while (!all_left() && os::monotonic_ns() < until_ns) {
    if (!progress()) sleep(base::kMillisecond_ns);
  }
}

bool LocalWorker::progress() {
  GRAPNEL_CHECK(!progressing_, "progress was called from a sink or a completion");
  progressing_ = true;
  epoll_event events[kEventsAtOnce];
  const int count = ::epoll_wait(epoll_.number(), events, kEventsAtOnce, 0);
  bool anything = false;
  for (int i = 0; i < count; ++i) anything |= handle(events[i]);
  if (has_deadlines_.load(std::memory_order_relaxed)) [[unlikely]]  // its own thread's; `doze` reads it in another
    tend();
  if (!ended_.empty() || !landed_.empty() || !ending_.empty()) anything |= tell_what_ended();
  progressing_ = false;
  return anything;
}

bool LocalWorker::handle(const epoll_event& event) {
  switch (source_of(event)) {
    case Source::connection: break;
    case Source::wake: handle_wake(); return false;
    case Source::listener: {
      const bool any = door_.accept();
      if (door_.has_deadlines()) has_deadlines_.store(true, std::memory_order_relaxed);
      return any;
    }
    case Source::unknown: door_.hear(index_of(event)); return true;
  }
  Connection& connection = *connections_[index_of(event)];
  if (!connection.socket.valid()) return false;
  bool anything = false;
  if ((event.events & EPOLLOUT) != 0) {
    move_out(connection);
    anything = true;
  }
  if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) anything |= read(connection);
  return anything;
}

// What is left of a wake that `arm` has seen already.
void LocalWorker::handle_wake() {
  if (woken_.load(std::memory_order_acquire)) return;  // pairs with `wake`
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_.number(), &count, sizeof count) == 0);
}

void LocalWorker::tend() {
  door_.tend();
  if (connecting_ > 0) {
    for (Connection* connection : endpoints_) {
      if (connection->connecting) try_to_connect(*connection);
    }
  }
  has_deadlines_.store(connecting_ > 0 || door_.has_deadlines(), std::memory_order_relaxed);
}

bool LocalWorker::tell_what_ended() {
  if (ended_.empty() && landed_.empty() && ending_.empty()) return false;
  telling_.swap(ended_);
  for (const Ended& one : telling_) {
    if (one.completion.notify != nullptr) one.completion.notify(one.completion.context, one.outcome);
  }
  telling_.clear();
  for (Arrival* arrival : std::exchange(landed_, {})) {
    const Completion completion = arrival->completion;
    const Status outcome = std::move(arrival->outcome);
    arrivals_.release(*arrival);
    if (completion.notify != nullptr) completion.notify(completion.context, outcome);
  }
  for (Connection* connection : std::exchange(ending_, {})) end(*connection);
  return true;
}

void LocalWorker::sleep(std::uint64_t timeout_ns) {
  if (arm()) sleep_on(epoll_.number(), timeout_ns);
}

bool LocalWorker::arm() {
  GRAPNEL_CHECK(!progressing_, "sleep was called from a sink or a completion");
  if (!ended_.empty() || !landed_.empty() || !ending_.empty()) return false;
  return !woken_.exchange(false, std::memory_order_acq_rel);  // pairs with `wake`
}

void LocalWorker::doze(std::uint64_t timeout_ns) { sleep_on(dozer_.number(), timeout_ns); }

void LocalWorker::sleep_on(int descriptor, std::uint64_t timeout_ns) const {
  // Connections that are being made have no event of their own.
  if (has_deadlines_.load(std::memory_order_relaxed)) timeout_ns = std::min(timeout_ns, base::kMillisecond_ns);
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / base::kSecond_ns),
                         .tv_nsec = static_cast<long>(timeout_ns % base::kSecond_ns)};
  const int ready = ::ppoll(&entry, 1, &timeout, nullptr);  // a signal ends the sleep early, which it may
  GRAPNEL_CHECK(ready >= 0 || errno == EINTR, "ppoll on descriptor {} failed with errno {}", descriptor, errno);
}

void LocalWorker::lend() { show_to_dozer(0); }
void LocalWorker::take_back() { show_to_dozer(EPOLLIN); }

void LocalWorker::show_to_dozer(std::uint32_t events) {
  epoll_event event{.events = events, .data = {}};
  const int changed = ::epoll_ctl(dozer_.number(), EPOLL_CTL_MOD, epoll_.number(), &event);
  GRAPNEL_CHECK(changed == 0, "epoll_ctl on descriptor {} failed with errno {}", dozer_.number(), errno);
}

void LocalWorker::wake() {
  if (woken_.exchange(true, std::memory_order_acq_rel)) return;  // pairs with `arm`: the descriptor is readable already
  const std::uint64_t one = 1;
  const bool written = ::write(wake_.number(), &one, sizeof one) == sizeof one;
  GRAPNEL_CHECK(written || errno == EAGAIN, "writing an event descriptor failed with errno {}", errno);
}

}  // namespace grapnel::transport::local
