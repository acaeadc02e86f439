// The shared heap: memory at one address in all ranks of the job, read and written by plain loads and stores, and kept
// coherent where the program synchronizes.
//
//   grapnel::SharedHeap heap = g.open_shared_heap().value();                   // collective
//   auto* sum = static_cast<double*>(heap.allocate(sizeof(double)).value());   // in one rank; others get the address
//   heap.lock(0);
//   *sum += mine;
//   heap.unlock(0);
//   heap.barrier();                                                            // all see the sum
//
// What may be relied on: a program without data races (order is made by the heap's locks, its barriers, and what a
//   rank's own threads use among themselves) sees sequential consistency. Two ranks may write neighbouring bytes at
//   once. What is not ordered may be seen early, late or never, and breaks nothing else.
// Cost: ranks of one node share its copy of a page: no messages, and in a job of one node no faults. Else docs/dsm.md.
// Errors: those of the calls; where a load or a store cannot be served (no memory, a rank died), the job ends with a
//   message.
// Not with: system calls that get an address of the heap, unless `touch` came before (they answer EFAULT); local
//   buffers of Runtime's calls to other nodes (invalid_argument); a child of fork, which has no heap.
// Threads: any may load, store, allocate, free, touch, place and prefetch; a rank's locks and barriers from one thread
//   at a time. Where threads write while another of their rank is in a barrier: SharedHeapOptions::threads.
// Source: treadmarks-on-gm; docs/dsm.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "grapnel/export.hpp"
#include "grapnel/heap_options.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel {

namespace dsm {
class Heap;
}

class GRAPNEL_API SharedHeap {
 public:
  SharedHeap() = default;

  /// Where it begins, in every rank, and how long it is.
  void* base() const;
  std::size_t bytes() const;
  /// Its locks: 0 … locks() − 1.
  int locks() const;

  /// Memory, at the same address in all ranks; zero where it was never used. 4,096 bytes and more begin at a page;
  /// smaller blocks of two ranks share no page until one frees what the other allocated. One rank calls. Errors:
  /// invalid_argument (0 bytes), no_memory, peer_dead. Cost: a round trip to node 0 for whole pages; small blocks come
  /// from 64 KiB of the rank's own. `name`: how GRAPNEL_DSM_REPORT calls the block, at most 64 bytes of it.
  /// `return_address`: of the call that it names, for libraries that allocate for their callers; null: of this call.
  Result<void*> allocate(std::size_t bytes, std::string_view name = {}, const void* return_address = nullptr);
  /// By any rank, once. No rank may use the block any more. Errors: invalid_argument (no block begins there),
  /// peer_dead.
  Status free(void* address);

  /// Waits for the lock; what its last holder wrote, and whatever that one had seen, is seen. Errors: invalid_argument
  /// (no such lock; the caller holds it), peer_dead.
  Status lock(int number);
  /// Whether it was free. Errors: as `lock`.
  Result<bool> try_lock(int number);
  /// What this rank wrote is where others ask for it (with hlrc complete at the pages' homes), then the lock is given
  /// on. Errors: invalid_argument (not held), peer_dead. Cost: one round trip to each home of pages that were written,
  /// none where none was; with lrc none.
  Status unlock(int number);
  /// Collective: all that any rank wrote before is seen by all. A barrier of `Runtime`, too. `number`: where the ranks
  /// give different ones, the job ends with a message that names both. Errors: peer_dead.
  Status barrier(int number = 0);

  // Conditions: a rank that holds a lock waits until another one has changed something under the same lock.
  //
  //   while (!ready) heap.wait(condition, lock);          // between lock and unlock, as signal and broadcast
  //
  // There are as many as locks: 0 … locks() − 1. A condition belongs to one lock while ranks wait for it.

  /// Gives the lock back as `unlock` does, sleeps until a `signal` or `broadcast` that follows under the lock wakes
  /// this rank, and takes the lock as `lock` does: what the waker and later holders wrote is seen. No wake-up is lost,
  /// and none is spurious. Another rank may hold the lock in between and change what was waited for: look again. One
  /// thread of a rank waits at a time. Errors: invalid_argument (no such condition or lock; the lock is not held; ranks
  /// wait for the condition with another lock; another thread of this rank waits), all with the lock still held;
  /// peer_dead: a death ends the wait, and the lock is not held. Cost: a round trip to the node that keeps the
  /// condition (its number modulo nodes), none inside that node; an unlock and a lock. Source: C. A. R. Hoare,
  /// "Monitors", CACM 17(10), 1974, with the order of Mesa: B. Lampson, D. Redell, CACM 23(2), 1980.
  Status wait(int condition, int lock);
  /// Wakes the rank that has waited longest for the condition; without effect where none waits. The caller holds the
  /// lock, and goes on to hold it. Completes when the wake-up has left; the rank acquires the lock after the caller
  /// released it. Errors: invalid_argument (no such condition or lock; the lock is not held; ranks wait with another
  /// one), peer_dead. Cost: the round trip of `wait`, and a message where the waiter is on another node.
  Status signal(int condition, int lock);
  /// The same for all ranks that wait; they acquire the lock one after the other. Cost: one round trip, and a message
  /// per waiter on other nodes.
  Status broadcast(int condition, int lock);

  /// Makes [address, +bytes) accessible, for a system call that gets it next; `writes`: for one that writes there.
  /// Errors: invalid_argument (not in the heap).
  Status touch(const void* address, std::size_t bytes, bool writes);

  /// Names the node of `rank` as the home of the pages that [address, +bytes) lies on, before any rank uses them; else
  /// the first rank to touch a page decides. By one rank; ranks that use the memory synchronize with it first. In a job
  /// of one node, and with GRAPNEL_DSM_PROTOCOL=lrc, there is nothing to do. Errors: invalid_argument (not in the heap;
  /// no such rank; GRAPNEL_DSM_HOMES computes the homes; pages that have another home, which stay there: how many, and
  /// the first), peer_dead. Cost: a message for each run of 512 pages, 2 MiB.
  Status place(const void* address, std::size_t bytes, Rank rank);
  /// Fetches what this node lacks of the pages that [address, +bytes) lies on, and maps them for this rank, so that
  /// accesses do not fault; a page without a home becomes this node's, as by a touch. A hint: a page that another rank
  /// of the node fetches or flushes at this moment is left to the access. What is seen is what an access would see.
  /// Errors: invalid_argument (not in the heap), no_memory, peer_dead. Cost: a message for 16 pages, of which 16 are
  /// under way at once.
  Status prefetch(const void* address, std::size_t bytes);

  SharedHeapCounts counts() const;

  /// A load and a store that work in simulated worlds, too, where there is no page table to notice them; elsewhere they
  /// are plain accesses. For tests that run in both.
  template <typename T>
  T load(const T* address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    read(address, &value, sizeof value);
    return value;
  }
  template <typename T>
  void store(T* address, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(address, &value, sizeof value);
  }

  explicit SharedHeap(std::shared_ptr<dsm::Heap> heap) : heap_(std::move(heap)) {}

 private:
  void read(const void* address, void* value, std::size_t bytes) const;
  void write(void* address, const void* value, std::size_t bytes);
  std::shared_ptr<dsm::Heap> heap_;
};

/// For a library that wraps sigaction: as that call for SIGSEGV and SIGBUS, on the action that faults outside the heap
/// get. `before`, if not null, is filled with that action; `next`, if not null, replaces it. Its sa_mask and SA_ONSTACK
/// have no effect: the action runs on the thread's stack, with all asynchronous signals blocked. False: another signal,
/// or no heap of several nodes was opened in this process; then the system's call is the one to use. Async-signal-safe;
/// any thread. Source: docs/decisions/faults.md.
GRAPNEL_API bool exchange_fault_action(int number, const struct sigaction* next, struct sigaction* before);

}  // namespace grapnel
