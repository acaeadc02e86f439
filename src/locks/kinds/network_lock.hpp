// What the locks of the network domain have in common: their words, and operations on them by the adapter. No server,
// no thread and no message of the home's node takes part.
//
//   a member's part    [count lines: its locks' words][what the kind keeps there for the member as a waiter]
//
// The words of a lock are changed by the adapter alone. A release is posted and not waited for, as in the paper: the
// adapter executes it, whatever this process does then.
// Paper: mpi2-passive, sections 5.1 and 5.2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

class NetworkLock : public Algorithm {
 public:
  explicit NetworkLock(LockContext& context) : context_(context) {}

  std::size_t network_bytes() const override {
    return static_cast<std::size_t>(context_.count) * LockMemory::kLineBytes;
  }
  bool take_now(const LockId&, bool) override { return false; }
  bool hear(const LockId&, const LockBody&, ByteView, const Sender&) override { return false; }
  progress::Outcome answer(const LockId&, const LockBody&, ByteView, progress::Request&) override {
    return progress::Outcome::refused;
  }

 protected:
  using Atomic = transport::Atomic;

  static Atomic add(std::uint64_t value) { return {Atomic::Kind::fetch_add, value}; }
  static Atomic compare(std::uint64_t expected, std::uint64_t desired) {
    return {Atomic::Kind::compare_swap, desired, expected};
  }

  std::byte* part_of(std::size_t place) const { return static_cast<std::byte*>(context_.network_parts[place]); }
  std::byte* home_word(const LockId& lock) const {
    return part_of(context_.group->index_of(lock.home)) + static_cast<std::size_t>(lock.index) * LockMemory::kLineBytes;
  }

  /// Of the lock's word: leaves now; `finish` waits for the old value. timed_out leaves it under way.
  Status start_operation(Acquisition& a, const Atomic& what);
  Result<std::uint64_t> finish_operation(Acquisition& a, std::uint64_t until_ns);
  Result<std::uint64_t> run(const LockId& lock, const Atomic& what);
  /// Leaves now and is not waited for.
  Status post(const LockId& lock, const Atomic& what);
  /// A word of the member at that place, which looks at it with `acquire`. Complete there on return.
  Status put_to(std::size_t place, std::byte* word, std::uint64_t value);

  LockContext& context_;
};

}  // namespace grapnel::locks
