// What the machine does for a rank, as far as a test wants to own it: time, sleeping, waking, threads.
//
// Two implementations: the real one (clock, futex, pthread), and the simulated one, where one thread runs at a time,
// the clock is virtual and every call is a point where another thread may be chosen. Nothing above this layer reads a
// clock, sleeps or starts a thread in another way, so that the whole runtime can run under either.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "os/process_copy.hpp"

namespace grapnel::os {

/// A word in shared memory that one sleeps on. 32 bits, as the futex wants it.
using Word = std::atomic<std::uint32_t>;

/// The processor's pause instruction: for a look at a word of which no simulator needs to know.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; isb waits about as long as x86's pause
#endif
}

/// A thread that was started through a Host; the destructor joins it.
class Thread {
 public:
  virtual ~Thread() = default;
};

class Host {
 public:
  virtual ~Host() = default;

  /// Monotonic, ns. Any thread.
  virtual std::uint64_t now_ns() = 0;

  /// How many processors the processes of this container or job step can keep busy together: those that the machine
  /// has switched on, less where cgroups grant less. Whatever single processes are bound to. Reads a dozen files. Any
  /// thread.
  virtual std::size_t processors() = 0;

  /// Whether each rank has a page table of its own: not in the simulator, whose ranks share a process.
  virtual bool has_page_tables() const { return true; }

  /// Copies to or from the memory of a process of this machine, which may be this one (process_copy.hpp). A plain copy
  /// in the simulator, whose ranks share a process. Errors: peer_dead, refused; the kernel's answer in `errno`.
  virtual Status copy_to(const ProcessName& target, std::span<const CopyRun> runs) {
    return copy_to_process(target, runs);
  }
  virtual Status copy_from(const ProcessName& target, std::span<const CopyRun> runs) {
    return copy_from_process(target, runs);
  }

  /// The processor on which the caller runs; it may be another one by the time that this returns. A few ns. Any thread.
  virtual int cpu() = 0;

  /// Moves the caller to that processor, once (placement.hpp). False where it may not run there, and in the simulator.
  virtual bool move_to_cpu(int) { return false; }

  /// One step of a spin: `pause`; a yield point in the simulator.
  virtual void relax() = 0;

  /// Gives the processor to another thread that wants it.
  virtual void yield() = 0;

  /// Sleeps while `word` holds `seen`, until woken, at most `timeout_ns`. May return early: the caller rechecks. Works
  /// between processes that share the word. Partner: `wake`.
  virtual void wait(Word& word, std::uint32_t seen, std::uint64_t timeout_ns) = 0;

  /// Wakes every thread that sleeps on `word`; the caller has stored the new value before. One system call: callers
  /// that know that none sleeps leave it out.
  virtual void wake(Word& word) = 0;

  /// Starts a thread named `name` (15 characters at most) that may run on every CPU of `cpus` (empty: the caller's).
  virtual Result<std::unique_ptr<Thread>> start(const std::string& name, const std::vector<int>& cpus,
                                                std::function<void()> body) = 0;
};

/// The machine itself. Stateless; any thread.
std::unique_ptr<Host> make_real_host();

}  // namespace grapnel::os
