// What the wrappers of system calls have in common: the function that they precede, and the repetition.
//
// libtmk precedes libc among a program's libraries, so its functions of these names are the ones that the program
// and its libraries call. Each finds libc's by dlsym(RTLD_NEXT).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>

#include "api/tmk/heap_range.hpp"

namespace grapnel::tmk {

/// The next function of that name. Constant-initialized: constructors of other libraries call before libtmk's run.
template <typename Function>
class NextCall {
 public:
  explicit constexpr NextCall(const char* name) : name_(name) {}

  template <typename... Args>
  auto operator()(Args... args) {
    return get()(args...);
  }
  Function* get() {
    Function* const known = found_.load(std::memory_order_relaxed);
    return known != nullptr ? known : find();
  }

 private:
  [[gnu::cold]] Function* find() {
    auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    found_.store(found, std::memory_order_relaxed);
    return found;
  }
  const char* name_;
  std::atomic<Function*> found_{nullptr};
};

/// Another thread of the process may acquire, which unmaps pages, between the touch and the call.
constexpr int kMostTurns = 100;

inline bool failed(long result) { return result == -1; }
inline bool failed(const void* result) { return result == nullptr; }

/// `touch_all` touches what the call gets and answers whether any of it lies in the heap.
template <typename Touch, typename Call>
auto with_access(Touch touch_all, Call call) {
  for (int turn = 1;; ++turn) {
    const bool in_heap = touch_all();
    const auto result = call();
    if (!in_heap || !failed(result) || errno != EFAULT || turn == kMostTurns) return result;
  }
}

/// The same for a call that reads, or writes, one buffer.
template <typename Call>
auto with_readable(const void* buffer, std::size_t bytes, Call call) {
  return with_access([=] { return touch(buffer, bytes, false); }, call);
}
template <typename Call>
auto with_writable(const void* buffer, std::size_t bytes, Call call) {
  return with_access([=] { return touch(buffer, bytes, true); }, call);
}

/// Touches pieces, and the array that lists them.
inline bool touch_pieces(const iovec* pieces, std::size_t count, bool writes) {
  bool any = touch(pieces, sizeof(iovec) * count, false);
  for (std::size_t i = 0; i < count; ++i) any = touch(pieces[i].iov_base, pieces[i].iov_len, writes) || any;
  return any;
}

}  // namespace grapnel::tmk
