// SPDX-License-Identifier: Apache-2.0
#include "transport/local/local_door.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "base/log.hpp"
#include "os/byte_stream.hpp"
#include "os/clock.hpp"
#include "os/identity.hpp"
#include "transport/local/local_events.hpp"

namespace grapnel::transport::local {
namespace {

// Per look, so that connections that come without an end do not keep the others' messages waiting.
constexpr int kMostAccepted = 8;

bool is_right(ByteView hello, std::uint64_t secret) {
  FrameHead head;
  HelloBody body;
  std::memcpy(&head, hello.data(), sizeof head);
  std::memcpy(&body, hello.data() + sizeof head, sizeof body);
  return head.kind == FrameKind::hello && head.header_bytes == sizeof body && head.length == 0 && head.number == 0 &&
         body.magic == HelloBody{}.magic && body.secret == secret;
}

}  // namespace

Status Door::open(int epoll) {
  epoll_ = epoll;
  name_ = fmt::format("grapnel-{:016x}{:016x}", os::random_u64(), os::random_u64());
  GRAPNEL_ASSIGN_OR_RETURN(auto socket, os::create_named_stream(name_));
  listener_ = std::move(socket);
  return {};
}

const std::string& Door::name() {
  if (!listening_) {
    const Status listens = os::listen_on(listener_);
    // Watched from now on: a socket that does not listen would report a hang-up again and again.
    const bool watched = listens.ok() && watch_listener(EPOLLIN, EPOLL_CTL_ADD);
    GRAPNEL_CHECK(watched, "a bound socket could not listen: {}", listens.to_string());
    listening_ = true;
  }
  return name_;
}

bool Door::watch_listener(std::uint32_t events, int operation) {
  epoll_event event = event_of(events, Source::listener);
  return ::epoll_ctl(epoll_, operation, listener_.number(), &event) == 0;
}

bool Door::accept() {
  if (paused_until_ns_ > 0) return false;
  for (int count = 0; count < kMostAccepted; ++count) {
    auto accepted = os::try_accept(listener_);
    if (!accepted) {
      base::log_warn("{}", accepted.status().message());
      pause(ECONNABORTED);
      return count > 0;
    }
    switch (accepted->step) {
      case os::AcceptStep::nothing: return count > 0;
      case os::AcceptStep::another_user: reject("of another user", accepted->process, accepted->user); continue;
      case os::AcceptStep::no_descriptors:
        if (unknown_ == 0) {
          pause(accepted->error);
          return count > 0;
        }
        close_oldest("that sent no hello, for want of descriptors (ulimit -n)");
        continue;
      case os::AcceptStep::accepted: break;
    }
    Unknown& unknown = free_slot();
    unknown.socket = std::move(accepted->socket);
    unknown.process = accepted->process;
    unknown.received = 0;
    unknown.arrived_ns = os::monotonic_ns();
    ++unknown_;
    epoll_event event = event_of(EPOLLIN, Source::unknown, static_cast<std::uint32_t>(&unknown - slots_.data()));
    if (!decide(unknown) && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, unknown.socket.number(), &event) != 0) close(unknown);
  }
  return true;
}

Door::Unknown& Door::free_slot() {
  if (unknown_ == slots_.size()) close_oldest("that sent no hello, for newer ones");
  return *std::find_if(slots_.begin(), slots_.end(), [](const Unknown& one) { return !one.socket.valid(); });
}

// Unless its hello has come by now.
void Door::close_oldest(const char* why) {
  Unknown* oldest = nullptr;
  for (Unknown& one : slots_) {
    if (one.socket.valid() && (oldest == nullptr || one.arrived_ns < oldest->arrived_ns)) oldest = &one;
  }
  if (decide(*oldest)) return;
  reject(why, oldest->process, ::geteuid());
  close(*oldest);
}

void Door::hear(std::size_t slot) {
  if (slots_[slot].socket.valid()) decide(slots_[slot]);
}

bool Door::decide(Unknown& unknown) {
  while (unknown.received < kHelloBytes) {
    const ssize_t got = ::recv(unknown.socket.number(), unknown.hello.data() + unknown.received,
                               kHelloBytes - unknown.received, MSG_DONTWAIT);
    if (got > 0) {
      unknown.received += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      return false;
    } else {
      if (unknown.received > 0) reject("that ended before its hello", unknown.process, ::geteuid());
      close(unknown);
      return true;
    }
  }
  if (!is_right(unknown.hello, secret_)) {
    reject("that does not know the job's secret", unknown.process, ::geteuid());
    close(unknown);
    return true;
  }
  // It is watched anew, as a connection of ours; it may not be watched yet.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, unknown.socket.number(), nullptr);
  os::Descriptor socket = std::move(unknown.socket);
  --unknown_;
  admit_(std::move(socket));
  return true;
}

void Door::close(Unknown& unknown) {
  if (!unknown.socket.valid()) return;
  unknown.socket.reset();
  --unknown_;
}

void Door::tend() {
  const std::uint64_t now_ns = os::monotonic_ns();
  for (Unknown& unknown : slots_) {
    if (!unknown.socket.valid() || now_ns < unknown.arrived_ns + kHelloLimit_ns || decide(unknown)) continue;
    reject("that sent no hello in time", unknown.process, ::geteuid());
    close(unknown);
  }
  if (paused_until_ns_ == 0 || now_ns < paused_until_ns_) return;
  paused_until_ns_ = 0;
  GRAPNEL_CHECK(watch_listener(EPOLLIN, EPOLL_CTL_MOD), "epoll_ctl on a listener failed with errno {}", errno);
}

// Logged at occurrence 1, 2, 4, 8, …: connections without an end must not fill the log.
void Door::reject(const char* why, int process, unsigned user) {
  if (!std::has_single_bit(++rejected_)) return;
  base::log_warn(
      "rejected a connection {}: process {} of user {}; this job's ranks run as user {} ({} rejected so far)", why,
      process, user, ::geteuid(), rejected_);
}

void Door::pause(int error) {
  paused_until_ns_ = os::monotonic_ns() + kPause_ns;
  GRAPNEL_CHECK(watch_listener(0, EPOLL_CTL_MOD), "epoll_ctl on a listener failed with errno {}", errno);
  if (!std::has_single_bit(++pauses_)) return;
  base::log_warn("a connection of another rank waits: {}", os::descriptor_error("accepting it", error).message());
}

}  // namespace grapnel::transport::local
