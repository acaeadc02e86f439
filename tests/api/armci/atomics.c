/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulates from all ranks at once, read-modify-write, and mutexes: nothing is lost, whoever comes from which node.
 */
#include "support.h"

enum { kTurns = 200 };

static void accumulate_together(void) {
  void** base = allocate(64 * sizeof(double));
  double ones[64], two = 2;
  for (int i = 0; i < 64; ++i) ones[i] = 1;
  ARMCI_Barrier();
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int target = 0; target < ranks; ++target) {
      CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_DBL, &two, ones, base[target], sizeof ones, target), 0);
    }
  }
  ARMCI_Barrier();
  for (int i = 0; i < 64; ++i) CHECK_NEAR(((double*)base[me])[i], 2.0 * kTurns * ranks);
  release(base);
}

static void fetch_and_add(void) {
  void** base = allocate(16);
  static char seen[kTurns * 64];
  ARMCI_Barrier();
  for (int turn = 0; turn < kTurns; ++turn) {
    int old = -1;
    CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &old, base[0], 1, 0), 0);
    CHECK(old >= 0 && old < kTurns * ranks && seen[old] == 0);
    seen[old] = 1;
    long before;
    CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, (char*)base[0] + 8, -3, 0), 0);
    CHECK_EQUAL(before % 3, 0);
  }
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_GetValueInt(base[0], 0), kTurns * ranks);
  CHECK_EQUAL(ARMCI_GetValueLong((char*)base[0] + 8, 0), -3L * kTurns * ranks);
  release(base);
}

/* A token in a word: the swaps hand each value on exactly once, so the sum stays. */
static void swap(void) {
  void** base = allocate(16);
  int token = me + 1;
  long wide = 1L << (32 + me);
  for (int turn = 0; turn < kTurns; ++turn) {
    CHECK_EQUAL(ARMCI_Rmw(ARMCI_SWAP, &token, base[0], 0, 0), 0);
    CHECK_EQUAL(ARMCI_Rmw(ARMCI_SWAP_LONG, &wide, (char*)base[0] + 8, 0, 0), 0);
  }
  ARMCI_Barrier();
  if (me == 0) {
    token += ARMCI_GetValueInt(base[0], 0);
    wide += ARMCI_GetValueLong((char*)base[0] + 8, 0);
  }
  armci_msg_igop(&token, 1, "+");
  armci_msg_lgop(&wide, 1, "+");
  CHECK_EQUAL(token, ranks * (ranks + 1) / 2);
  CHECK_EQUAL(wide, ((1L << ranks) - 1) << 32);
  release(base);
}

static void beyond(void) {
  void** base = allocate(16);
  char* const wide = (char*)base[0] + 8;
  ARMCI_Barrier();
  for (int turn = 0; turn < kTurns; ++turn) {
    int old, seen = 0;
    while (1) { /* adds one by compare-and-swap */
      CHECK_EQUAL(ARMCI_Compare_and_swap_int(&old, base[0], seen, seen + 1, 0), 0);
      if (old == seen) break;
      seen = old;
    }
    long before;
    CHECK_EQUAL(ARMCI_Rmw_long(ARMCI_FETCH_AND_ADD_LONG, &before, wide, 1L << 33, 0), 0);
  }
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_GetValueInt(base[0], 0), kTurns * ranks);
  CHECK_EQUAL(ARMCI_GetValueLong(wide, 0), (1L << 33) * kTurns * ranks);
  ARMCI_Barrier();
  if (me == 0) {
    long old, mine = 5;
    CHECK_EQUAL(ARMCI_Rmw_long(ARMCI_SWAP_LONG, &mine, wide, 0, 0), 0);
    CHECK_EQUAL(ARMCI_Compare_and_swap_long(&old, wide, 5, 6, 0), 0);
    CHECK_EQUAL(old, 5);
    CHECK_EQUAL(ARMCI_GetValueLong(wide, 0), 6);
  }
  release(base);
}

/* Every rank has as many mutexes as its number plus one; each guards a counter that is read and written back. */
static void mutexes(void) {
  void** base = allocate((long)ranks * sizeof(long));
  CHECK_EQUAL(ARMCI_Create_mutexes(me + 1), 0);
  for (int turn = 0; turn < 20; ++turn) {
    for (int home = 0; home < ranks; ++home) {
      for (int mutex = 0; mutex <= home; ++mutex) {
        long* const counter = (long*)base[home] + mutex;
        ARMCI_Lock(mutex, home);
        long value = ARMCI_GetValueLong(counter, home) + 1;
        CHECK_EQUAL(ARMCI_Put(&value, counter, sizeof value, home), 0);
        ARMCI_Fence(home);
        ARMCI_Unlock(mutex, home);
      }
    }
  }
  ARMCI_Barrier();
  for (int mutex = 0; mutex <= me; ++mutex) CHECK_EQUAL(((long*)base[me])[mutex], 20L * ranks);
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  CHECK_EQUAL(ARMCI_Create_mutexes(me == 0 ? 2 : 0), 0); /* a second set, in one rank only */
  ARMCI_Lock(1, 0);
  ARMCI_Unlock(1, 0);
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  release(base);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  accumulate_together();
  fetch_and_add();
  swap();
  beyond();
  mutexes();
  finish();
  return 0;
}
