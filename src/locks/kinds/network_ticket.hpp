// ticket in the network domain: a number by fetch-and-add, then looks at the word until it is served.
//
// Source: the project's own, after the thesis's 5.1.2 (ticket lock, remote polling); the paper has the other two.
//
// The word, at home:   next number << 32 | number that is served, both modulo 2^32
//
//                       free                    contended
//   acquire             1 fetch-and-add         1, then one per look
//   release             1 fetch-and-add, not waited for
//
// For ranks at home, too. Spinning: none; a waiter looks with a pause that grows with its distance from the head of the
// line, about GRAPNEL_LOCK_BACKOFF_NS per rank before it. Order: FIFO by number. One that may give up takes no number:
// it looks, and takes the number that is served by compare-and-swap, in two round trips. A holder that dies: the next
// number is not served; waiters see the death between looks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "locks/kinds/network_lock.hpp"

namespace grapnel::locks {

class NetworkTicket final : public NetworkLock {
 public:
  using NetworkLock::NetworkLock;

  void use_memory() override { mine_.resize(context_.memory.lock_count()); }
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition&) override { return {}; }
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  std::string describe(const Acquisition& a) override;

 private:
  enum Stage { kTrying, kTaking, kLooking };
  static constexpr std::uint64_t kOneNumber = std::uint64_t{1} << 32;

  static std::uint32_t next(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
  static std::uint32_t served(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  void take(Acquisition& a);

  std::vector<std::uint32_t> mine_;  ///< by ordinal: the number with which this rank holds the lock
};

}  // namespace grapnel::locks
