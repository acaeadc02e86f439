/* SPDX-License-Identifier: Apache-2.0 */
/* Any thread may call: several threads of each rank put, get, accumulate, add, lock and wait at once, each with handles
 * of its own, while the main thread makes groups and takes part in barriers. */
#include <pthread.h>

#include "support.h"

enum { kThreads = 3, kTurns = 150, kWords = 200, kGroups = 50 };

static ARMCI_Group world;
static void** base; /* per rank: a counter, a sum, a guarded word; then kWords for each thread of each rank */

static long* area(int rank, int owner, int thread) {
  return (long*)base[rank] + 8 + (owner * kThreads + thread) * kWords;
}

static void move_words(int thread, int turn, int target) {
  long out[kWords], in[kWords];
  armci_hdl_t handle;
  for (int i = 0; i < kWords; ++i) out[i] = turn * 1000000L + me * 10000 + thread * 1000 + i;
  if (turn % 2) {
    CHECK_EQUAL(ARMCI_Put(out, area(target, me, thread), sizeof out, target), 0);
    CHECK_EQUAL(ARMCI_Get(area(target, me, thread), in, sizeof in, target), 0);
  } else {
    ARMCI_INIT_HANDLE(&handle);
    if (turn % 4 == 0) ARMCI_SET_AGGREGATE_HANDLE(&handle);
    CHECK_EQUAL(ARMCI_NbPut(out, area(target, me, thread), sizeof out, target, &handle), 0);
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    ARMCI_Fence(target);
    CHECK_EQUAL(ARMCI_NbGet(area(target, me, thread), in, sizeof in, target, &handle), 0);
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  }
  CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
}

static void* work(void* number) {
  const int thread = *(int*)number;
  for (int turn = 0; turn < kTurns; ++turn) {
    const int target = (me + thread + turn) % ranks;
    long old, one = 1, *const words = base[target];
    move_words(thread, turn, target);
    CHECK_EQUAL(ARMCI_Absolute_id(&world, target), target);
    CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, words, 1, target), 0);
    CHECK_EQUAL(ARMCI_Acc(ARMCI_ACC_LNG, &one, &one, words + 1, sizeof one, target), 0);
    if (turn % 10 != 0) continue;
    ARMCI_Lock(thread, target); /* a thread has a mutex of its own: a rank is not to take one twice */
    const long value = ARMCI_GetValueLong(words + 2 + thread, target) + 1;
    CHECK_EQUAL(ARMCI_PutValueLong(value, words + 2 + thread, target), 0);
    ARMCI_Fence(target);
    ARMCI_Unlock(thread, target);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  int level;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  CHECK_EQUAL(ARMCI_Init(), 0);
  me = armci_msg_me();
  ranks = armci_msg_nproc();
  base = allocate((8 + (long)ranks * kThreads * kWords) * (long)sizeof(long));
  CHECK_EQUAL(ARMCI_Create_mutexes(kThreads), 0);
  ARMCI_Group_get_world(&world);
  ARMCI_Barrier();
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    CHECK_EQUAL(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
  }
  ARMCI_Group groups[kGroups];
  for (int i = 0; i < kGroups; ++i) {
    ARMCI_Group_create(1, &me, &groups[i]);
    ARMCI_Barrier();
  }
  for (int i = 0; i < kGroups; ++i) ARMCI_Group_free(&groups[i]);
  for (int i = 0; i < kThreads; ++i) CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
  ARMCI_Barrier();
  const long* const words = base[me];
  long sums[] = {words[0], words[1], words[2] + words[3] + words[4]};
  armci_msg_lgop(sums, 3, "+");
  CHECK_EQUAL(sums[0], (long)ranks * kThreads * kTurns);
  CHECK_EQUAL(sums[1], (long)ranks * kThreads * kTurns);
  CHECK_EQUAL(sums[2], (long)ranks * kThreads * (kTurns / 10));
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  release(base);
  finish();
  return 0;
}
