// A thread of the simulated world as its scheduler sees it, and how it waits for its turn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

#include "os/sim/scheduler.hpp"

namespace grapnel::os {

/// `token` is the only member that two threads touch at once.
struct SimScheduler::Task {
  enum class State { runnable, blocked, finished, stopped };

  int id = 0;
  int process = 0;
  std::string name;
  std::function<void()> body;
  State state = State::runnable;
  const Word* word = nullptr;  ///< what it waits for, when blocked in `wait`
  std::uint32_t seen = 0;
  const void* lock = nullptr;   ///< what it waits for, when blocked in `wait_for_lock`
  const Task* joins = nullptr;  ///< whom it waits for, when blocked in `join`
  std::uint64_t since_ns = 0;
  std::uint64_t until_ns = kNever;
  std::atomic<std::uint32_t> token{0};  ///< 1: this thread may run
  std::thread thread;
};

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, const timespec* timeout) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace grapnel::os
