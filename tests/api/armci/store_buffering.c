/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks of a node store a word each, fence, and load the other's word: one of them at least must see the other's
 * store, for which the processor's store buffer must be empty before the load. Without the fence in ARMCI_Fence or
 * _AllFence both miss it in some of these rounds. */
#include <sched.h>

#include "support.h"

enum { kRounds = 200000, kApart = 16 };

/* Words of rank 0's part, each on lines of its own. */
static volatile int *arrived[2], *stored[2], *seen[2];

static void wait_for(const volatile int* word, int value) {
  for (int spins = 0; *word < value; ++spins) {
    if (spins % 1024 == 1023) sched_yield(); /* there may be one processor only */
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  CHECK_EQUAL(ranks, 2);
  CHECK(ARMCI_Same_node(1 - me));
  void** base = allocate(6 * kApart * sizeof(int));
  for (int i = 0; i < 2; ++i) {
    arrived[i] = (int*)base[0] + i * kApart;
    stored[i] = arrived[i] + 2 * kApart;
    seen[i] = arrived[i] + 4 * kApart;
  }
  ARMCI_Barrier();
  const int other = 1 - me;
  for (int round = 1; round <= kRounds; ++round) {
    *arrived[me] = round;
    wait_for(arrived[other], round);
    for (volatile int late = me == 0 ? round / 2 % 64 : 32; late > 0; --late) {
    } /* who sees the other arrive is behind it by the way of a cache line, which differs between machines */
    *stored[me] = round;
    if (round % 2) {
      ARMCI_Fence(other);
    } else {
      ARMCI_AllFence();
    }
    *seen[me] = *stored[other] == round ? round : -round;
    while (*seen[other] != round && *seen[other] != -round) sched_yield();
    CHECK(*seen[me] == round || *seen[other] == round);
  }
  ARMCI_Barrier();
  release(base);
  finish();
  return 0;
}
