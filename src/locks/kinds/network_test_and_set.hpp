// test_and_set in the network domain: compare-and-swap of the word, again and again, with pauses that double.
//
// Paper: mpi2-passive, section 5.1 (Test-and-Set by compare-and-swap; shared and exclusive by the value that it
// returns; exponential back-off; the first compare-and-swap is waited for at the first use).
//
// The word, at home:   0 = free, kWriter | rank + 1 = held, n < kWriter = n readers
//
//                       free                    contended
//   acquire             1 compare-and-swap      one per try
//     shared            1 + one per reader that came or left in between
//   release             1 fetch-and-add, not waited for
//
// For ranks at home, too. Spinning: none; between tries a rank sleeps, as `test_and_set` does. Order: none; a writer
// waits for as long as readers overlap. A holder that dies: the word names it; tries see the death between pauses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/network_lock.hpp"

namespace grapnel::locks {

class NetworkTestAndSet final : public NetworkLock {
 public:
  using NetworkLock::NetworkLock;

  bool has_shared() const override { return context_.options.shared_mode; }
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  std::string describe(const Acquisition& a) override;

 private:
  static constexpr std::uint64_t kWriter = std::uint64_t{1} << 63;

  static bool is_writer(std::uint64_t word) { return word >= kWriter; }
  std::uint64_t my_mark() const { return kWriter | (index(context_.me) + 1); }
  Status try_from(Acquisition& a, std::uint64_t expected);
  Status try_until_refused(Acquisition& a, std::uint64_t until_ns);
};

}  // namespace grapnel::locks
