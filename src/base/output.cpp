// SPDX-License-Identifier: Apache-2.0
#include "base/output.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace grapnel::base {
namespace {

constexpr int kRoom_ms = 1000;

// While it lives, a SIGPIPE that this thread's writes raise is swallowed. The signal of a write is sent to the thread
// that writes, so that blocking it here and taking it off again disturbs no other thread.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec now{};
    while (raised && !was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

  bool raised = false;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;  ///< then it is the program's, and stays
};

bool has_room(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&entry, 1, kRoom_ms) > 0;
}

}  // namespace

int write_all(int descriptor, std::string_view text) {
  WithoutSigpipe guard;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int error = errno;
    guard.raised = error == EPIPE;
    if (error != EINTR && !(error == EAGAIN && has_room(descriptor))) return error;
  }
  return 0;
}

}  // namespace grapnel::base
