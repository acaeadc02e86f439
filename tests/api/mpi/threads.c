/* MPI_THREAD_MULTIPLE: threads of a rank make, fence and free windows of different communicators at once, in any order,
 * and operate on one window together.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "support.h"

enum { kThreads = 3, kWindows = 3, kAdditions = 50 };

static MPI_Comm comms[kThreads];
static MPI_Win common;

/* A window of this thread's communicator, with fences; thread by thread in another order in each rank. */
static void* make_and_fence(void* argument) {
  const int thread = *(const int*)argument;
  const MPI_Comm comm = comms[thread];
  for (int round = 0; round < kWindows; ++round) {
    MPI_Win window;
    long* memory;
    const long value = 100 * thread + 10 * round + me;
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_LONG, (me + 1) % ranks, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    CHECK_EQUAL(*memory, 100 * thread + 10 * round + (me + ranks - 1) % ranks);
    MPI_Win_free(&window);
  }
  return NULL;
}

static void* add(void* argument) {
  const long one = 1;
  const int thread = *(const int*)argument;
  for (int i = 0; i < kAdditions; ++i) {
    const int target = (i + thread) % ranks;
    long old = -1;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 0, MPI_SUM, common);
    MPI_Win_flush(target, common);
    CHECK(old >= 0 && old < (long)kThreads * kAdditions * ranks);
  }
  return NULL;
}

static void in_all_threads(void* (*work)(void*)) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = (i + me) % kThreads;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void add_together(void) {
  long* memory;
  long mine, sum = 0;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &common);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, common);
  in_all_threads(add);
  MPI_Win_unlock_all(common);
  MPI_Barrier(MPI_COMM_WORLD);
  mine = *memory;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(sum, (long)kThreads * kAdditions * ranks);
  MPI_Win_free(&common);
}

int main(int argc, char** argv) {
  int level = 0;
  begin(&argc, &argv, MPI_THREAD_MULTIPLE);
  MPI_Query_thread(&level);
  CHECK_EQUAL(level, MPI_THREAD_MULTIPLE);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  in_all_threads(make_and_fence);
  add_together();
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  return finish();
}
