// test_and_set: tries to change the word from free to taken, again and again, and waits longer each time.
//
// Paper: mpi2-passive, section 4.2 (Test-and-Set by compare-and-swap) and section 7 (exponential back-off as the cure
// of its message complexity).
//
// The word, at home:   0 = free, else rank + 1 of the holder
//
//                       free                  contended
//   acquire at home     1 compare-and-swap    one per try
//           elsewhere   1 round trip          one per try
//   release at home     1 store               the same
//           elsewhere   1 one-way message     the same
//
// Spinning: none; between tries a rank sleeps for a pause that doubles from GRAPNEL_LOCK_BACKOFF_NS to
// GRAPNEL_LOCK_BACKOFF_MOST_NS (or what the set's options say). A release wakes no rank: the next try finds it.
// Order: none. A rank may starve in theory; the longest pause bounds how far it can fall behind in practice.
// A holder that dies: the word names it; tries see the death between pauses, and the job ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

class TestAndSet final : public Algorithm {
 public:
  explicit TestAndSet(LockContext& context) : context_(context) {}

  bool take_now(const LockId& lock, bool shared) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override;
  std::string queue_behind(const LockId& lock, Rank holder) override {
    return words(lock).holder.load() == index(holder) + 1 ? fmt::format("its word names rank {}", index(holder)) : "";
  }

 private:
  struct Words {
    os::Word holder;
    std::atomic<std::uint32_t> last;  ///< rank + 1 of the last holder
  };
  enum Stage { kIdle, kAsked };

  Words& words(const LockId& lock) { return context_.memory.home<Words>(lock); }
  /// 0, or the holder.
  std::uint32_t try_to_take(Words& words, Rank who);
  void free(Words& words, ByteView payload);
  Status try_once(Acquisition& a, std::uint64_t until_ns);
  void take_answer(Acquisition& a);
  void got_it(Acquisition& a, std::uint64_t last, Bytes payload);

  LockContext& context_;
};

}  // namespace grapnel::locks
