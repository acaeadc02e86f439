/* The same for MPI's windows: one process, which MPI starts as a job of its own, and a window of libgrapnel-mpi. It
 * accesses its own memory, by the same calls as for another rank of the node.
 *
 * usage: instruction_window_calls NAME COUNT
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSums = 512 };

static int64_t value = 1;
static double addends[kSums];

static void put(MPI_Win win, long count) {
  MPI_Win_lock_all(0, win);
  for (long i = 0; i < count; ++i) {
    MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
}

static void get(MPI_Win win, long count) {
  MPI_Win_lock_all(0, win);
  for (long i = 0; i < count; ++i) {
    MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
}

static void fetch_and_op(MPI_Win win, long count) {
  static const int64_t one = 1;
  MPI_Win_lock_all(0, win);
  for (long i = 0; i < count; ++i) {
    MPI_Fetch_and_op(&one, &value, MPI_INT64_T, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
}

static void accumulate(MPI_Win win, long count) {
  MPI_Win_lock_all(0, win);
  for (long i = 0; i < count; ++i) {
    MPI_Accumulate(addends, kSums, MPI_DOUBLE, 0, 0, kSums, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
}

static void lock_unlock(MPI_Win win, long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Win_unlock(0, win);
  }
}

static void shared_lock_put_unlock(MPI_Win win, long count) {
  for (long i = 0; i < count; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
    MPI_Win_unlock(0, win);
  }
}

static const struct {
  const char* name;
  void (*repeat)(MPI_Win win, long count);
} kCalls[] = {{"MPI_Put/8B,flush", put},
              {"MPI_Get/8B,flush", get},
              {"MPI_Fetch_and_op,flush", fetch_and_op},
              {"MPI_Accumulate/4KiB,flush", accumulate},
              {"MPI_Win_lock,unlock", lock_unlock},
              {"MPI_Win_lock/shared,MPI_Put/8B,unlock", shared_lock_put_unlock}};

static void run(unsigned number, long count) {
  void* memory = NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof addends, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, sizeof addends);
  kCalls[number].repeat(win, count);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  const unsigned all = sizeof kCalls / sizeof kCalls[0];
  if (argc != 3) {
    for (unsigned i = 0; i < all; ++i) puts(kCalls[i].name);
    return argc == 1 ? 0 : 2;
  }
  unsigned number = 0;
  while (number < all && strcmp(kCalls[number].name, argv[1]) != 0) ++number;
  if (number == all) return 2;
  MPI_Init(&argc, &argv);
  run(number, atol(argv[2]));
  MPI_Finalize();
  return 0;
}
