// Conditions of the shared heap: each wait has its wake-up, and no other.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/small_heap.hpp"

namespace grapnel::test {
namespace {

constexpr int kLock = 5;

std::vector<Shape> shapes_of_nine() { return {{9, 1}, {9, 3}}; }

// Words of the heap that the tests use, a page apart.
constexpr std::size_t kFirst = 0, kSecond = kPage, kThird = 2 * kPage, kSlots = 3 * kPage;

void wait_until(SmallHeap& h, int condition, std::size_t word, std::uint64_t value) {
  while (h.get(word) != value) ASSERT_OK(h.heap().wait(condition, kLock));
}

}  // namespace

// Each rank waits for its turn, which comes by one signal.
WORLD_TEST_ALONE_ON(Conditions, ATurnGoesAround, shapes_from(2)) {
  SmallHeap h(g);
  const auto size = static_cast<std::uint64_t>(h.size()), me = static_cast<std::uint64_t>(h.me());
  for (std::uint64_t turn = me; turn < 4 * size; turn += size) {
    h.lock(kLock);
    wait_until(h, h.me(), kFirst, turn);
    h.set(kFirst, turn + 1);
    EXPECT_OK(h.heap().signal((h.me() + 1) % h.size(), kLock));
    h.unlock(kLock);
  }
  h.barrier();
  EXPECT_EQ(h.get(kFirst), 4 * size);
  h.barrier();
}

// Even ranks put numbers into four slots, odd ones take them out: each number comes once, and those of one producer
// come in order.
WORLD_TEST_ALONE_ON(Conditions, ABoundedBuffer, shapes_from(2)) {
  SmallHeap h(g);
  constexpr int kNotFull = 0, kNotEmpty = 1;
  constexpr std::uint64_t kRoom = 4, kEach = 12;
  constexpr std::size_t kPut = kFirst, kTaken = kSecond, kSum = kThird;
  const auto size = static_cast<std::uint64_t>(h.size()), me = static_cast<std::uint64_t>(h.me());
  const std::uint64_t producers = (size + 1) / 2, consumers = size / 2, all = producers * kEach;
  const auto slot = [](std::uint64_t number) { return kSlots + number % kRoom * 8; };
  if (me % 2 == 0) {
    for (std::uint64_t i = 1; i <= kEach; ++i) {
      h.lock(kLock);
      while (h.get(kPut) - h.get(kTaken) == kRoom) ASSERT_OK(h.heap().wait(kNotFull, kLock));
      const std::uint64_t number = h.get(kPut);
      h.set(slot(number), me << 32 | i);
      h.set(kPut, number + 1);
      EXPECT_OK(h.heap().signal(kNotEmpty, kLock));
      h.unlock(kLock);
    }
  } else {
    std::vector<std::uint64_t> last(size);
    for (std::uint64_t i = me / 2; i < all; i += consumers) {
      h.lock(kLock);
      while (h.get(kPut) == h.get(kTaken)) ASSERT_OK(h.heap().wait(kNotEmpty, kLock));
      const std::uint64_t number = h.get(kTaken), item = h.get(slot(number));
      h.set(kTaken, number + 1);
      h.set(kSum, h.get(kSum) + (item & 0xffffffff));
      EXPECT_OK(h.heap().signal(kNotFull, kLock));
      h.unlock(kLock);
      ASSERT_LT(item >> 32, size);
      EXPECT_GT(item & 0xffffffff, last[item >> 32]);
      last[item >> 32] = item & 0xffffffff;
    }
  }
  h.barrier();
  EXPECT_EQ(h.get(kPut), all);
  EXPECT_EQ(h.get(kTaken), all);
  EXPECT_EQ(h.get(kSum), producers * kEach * (kEach + 1) / 2);
  h.barrier();
}

// Eight ranks wait without a look at anything; what they see behind the wait was written before the broadcast.
WORLD_TEST_ALONE_ON(Conditions, ABroadcastWakesEight, shapes_of_nine()) {
  SmallHeap h(g);
  constexpr int kGo = 3, kWaiting = 4;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    h.lock(kLock);
    if (h.me() == 0) {
      wait_until(h, kWaiting, kFirst, 8 * round);
      h.set(kSecond, round);
      EXPECT_OK(h.heap().broadcast(kGo, kLock));
      EXPECT_OK(h.heap().broadcast(kGo, kLock));  // none waits
    } else {
      h.set(kFirst, h.get(kFirst) + 1);
      EXPECT_OK(h.heap().signal(kWaiting, kLock));
      ASSERT_OK(h.heap().wait(kGo, kLock));
      EXPECT_EQ(h.get(kSecond), round);
    }
    h.unlock(kLock);
    h.barrier();
  }
}

// Ranks enter in order. Each signal wakes one, the one that has waited longest, and no other.
WORLD_TEST_ALONE_ON(Conditions, ASignalWakesTheOneThatWaitsLongest, shapes_from(3)) {
  SmallHeap h(g);
  constexpr int kGo = 7, kNews = 8;
  const auto size = static_cast<std::uint64_t>(h.size()), me = static_cast<std::uint64_t>(h.me());
  h.lock(kLock);
  if (me > 0) {
    while (h.get(kFirst) != me - 1) ASSERT_OK(h.heap().wait(kNews, kLock));
    h.set(kFirst, me);
    EXPECT_OK(h.heap().broadcast(kNews, kLock));
    ASSERT_OK(h.heap().wait(kGo, kLock));
    h.set(kSecond, h.get(kSecond) + 1);
    EXPECT_EQ(h.get(kSecond), me) << "was woken out of turn";
    EXPECT_EQ(h.get(kThird), me) << "was woken without a signal";
    EXPECT_OK(h.heap().signal(kNews, kLock));
  } else {
    while (h.get(kFirst) != size - 1) ASSERT_OK(h.heap().wait(kNews, kLock));
    for (std::uint64_t signals = 1; signals < size; ++signals) {
      h.set(kThird, signals);
      EXPECT_OK(h.heap().signal(kGo, kLock));
      wait_until(h, kNews, kSecond, signals);
    }
  }
  h.unlock(kLock);
  h.barrier();
}

// What a rank wrote, under no lock, before it waits is seen by the rank that it lets in.
WORLD_TEST_ALONE_ON(Conditions, AWaitReleases, shapes_from(2)) {
  SmallHeap h(g);
  constexpr std::size_t kData = 9 * kPage;
  if (h.me() == 0) {
    h.set(kData, 17);
    h.lock(kLock);
    h.set(kFirst, 1);
    while (h.get(kSecond) == 0) ASSERT_OK(h.heap().wait(2, kLock));
    EXPECT_EQ(h.get(kData + 8), 18U);
    h.unlock(kLock);
  } else if (h.me() == h.size() - 1) {
    h.set(kData + 8, 18);
    for (bool done = false; !done;) {
      h.lock(kLock);
      done = h.get(kFirst) == 1;
      if (done) {
        EXPECT_EQ(h.get(kData), 17U);
        h.set(kSecond, 1);
        EXPECT_OK(h.heap().signal(2, kLock));
      }
      h.unlock(kLock);
    }
  }
  h.barrier();
}

WORLD_TEST_ALONE(Conditions, MistakesAreNamed) {
  SmallHeap h(g);
  SharedHeap& heap = h.heap();
  const std::string me = std::to_string(h.me());
  EXPECT_EQ(heap.wait(3, kLock).message(),
            "condition 3 of the shared heap: rank " + me + " does not hold lock 5; lock it first");
  EXPECT_CODE(Code::invalid_argument, heap.signal(3, kLock));
  EXPECT_CODE(Code::invalid_argument, heap.broadcast(3, kLock));
  h.lock(kLock);
  EXPECT_EQ(heap.wait(16, kLock).message(), "condition 16 of the shared heap: it has the conditions 0..15");
  EXPECT_CODE(Code::invalid_argument, heap.signal(-1, kLock));
  EXPECT_CODE(Code::invalid_argument, heap.broadcast(3, 16));
  EXPECT_OK(heap.signal(3, kLock));  // none waits
  h.unlock(kLock);
  h.barrier();
}

// Two locks cannot guard one queue.
WORLD_TEST_ALONE_ON(Conditions, BelongToOneLockAtATime, shapes_from(2)) {
  SmallHeap h(g);
  SharedHeap& heap = h.heap();
  constexpr int kOther = 6;
  if (h.me() == 1) {
    h.lock(kLock);
    h.set(kFirst, 1);
    ASSERT_OK(heap.wait(2, kLock));
    h.unlock(kLock);
  } else if (h.me() == 0) {
    for (bool waits = false; !waits;) {
      h.lock(kLock);
      waits = h.get(kFirst) == 1;
      if (waits) {
        h.lock(kOther);
        const std::string message =
            "condition 2 of the shared heap with lock 6: ranks wait for it with lock 5; a condition belongs to one "
            "lock at a time";
        EXPECT_EQ(heap.wait(2, kOther).message(), message);
        EXPECT_EQ(heap.signal(2, kOther).message(), message);
        EXPECT_EQ(heap.broadcast(2, kOther).message(), message);
        h.unlock(kOther);
        EXPECT_OK(heap.signal(2, kLock));
      }
      h.unlock(kLock);
    }
  }
  h.barrier();
}

// docs/dsm.md's table of costs, exactly: rank 0 waits, rank 1 of the other node signals.
WORLD_TEST_ALONE_ON(Conditions, CostARoundTripAndAWakeUp, (std::vector<Shape>{{2, 2}})) {
  SmallHeap h(g);
  for (const int condition : {0, 1}) {  // kept by the waiter's node, by the signaller's
    const std::uint64_t before = h.heap().counts().condition_messages;
    h.lock(kLock);
    if (h.me() == 0) {
      h.set(kFirst, 1 + static_cast<std::uint64_t>(condition));
      ASSERT_OK(h.heap().wait(condition, kLock));
      h.unlock(kLock);
      EXPECT_EQ(h.heap().counts().condition_messages - before, condition == 0 ? 0U : 1U);
    } else {
      while (h.get(kFirst) != 1 + static_cast<std::uint64_t>(condition)) {
        h.unlock(kLock);
        h.lock(kLock);
      }
      EXPECT_OK(h.heap().signal(condition, kLock));
      h.unlock(kLock);
      EXPECT_EQ(h.heap().counts().condition_messages - before, condition == 0 ? 2U : 1U);
    }
    h.barrier();
  }
}

}  // namespace grapnel::test
