/* Locks and barriers: counters under several locks, and a table that each process fills in its part.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

enum { kTurns = 200, kCounters = 5, kSteps = 30, kWidth = 64 };

static struct Shared {
  long counters[kCounters];
  int row[2][kWidth];
} * shared;

static void count(void) {
  for (int turn = 0; turn < kTurns; ++turn) {
    const unsigned which = ((unsigned)turn + Tmk_proc_id) % kCounters;
    const unsigned number = which == 0 ? TMK_NLOCKS - 1 : which * 37; /* the highest, too */
    Tmk_lock_acquire(number);
    ++shared->counters[which];
    Tmk_lock_release(number);
  }
  Tmk_barrier(TMK_NBARRIERS - 1);
  long sum = 0;
  for (int i = 0; i < kCounters; ++i) sum += shared->counters[i];
  CHECK(sum == (long)kTurns * Tmk_nprocs);
}

/* Each element of a step is the sum of its neighbours of the step before, as one process computes it alone. */
static int next_of(const int* row, int i) { return (row[(i + kWidth - 1) % kWidth] + row[(i + 1) % kWidth]) % 10007; }

static void step(void) {
  int own[2][kWidth];
  memset(own, 0, sizeof own);
  own[0][0] = 1;
  if (Tmk_proc_id == 0) shared->row[0][0] = 1;
  Tmk_barrier(0);
  for (int turn = 0; turn < kSteps; ++turn) {
    const int from = turn % 2;
    for (int i = 0; i < kWidth; ++i) {
      own[1 - from][i] = next_of(own[from], i);
      if ((unsigned)i % Tmk_nprocs == Tmk_proc_id) shared->row[1 - from][i] = next_of(shared->row[from], i);
    }
    Tmk_barrier((unsigned)turn);
    CHECK(memcmp(shared->row[1 - from], own[1 - from], sizeof own[0]) == 0);
  }
}

int main(int argc, char** argv) {
  Tmk_startup(argc, argv);
  if (Tmk_proc_id == 0) {
    shared = Tmk_malloc(sizeof *shared);
    CHECK(shared != NULL);
    Tmk_distribute((const void*)&shared, sizeof(void*));
  }
  Tmk_barrier(0);
  count();
  step();
  CHECK(Tmk_malloc((size_t)1 << 40) == NULL); /* no room */
  CHECK(Tmk_malloc(0) == NULL);
  Tmk_barrier(1);
  if (Tmk_proc_id == Tmk_nprocs - 1) Tmk_free(shared);
  Tmk_free(NULL);
  printf("passed %u\n", Tmk_proc_id);
  Tmk_exit(0);
}
