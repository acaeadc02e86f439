/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of each kind, and the calls that are measured on them. */
#include <string.h>

#include "windows.h"

enum { kWord = 0, kCounter = 64, kSums = 4096, kSumCount = 512 };

static int64_t put_value, got_value;

int64_t last_put(void) { return put_value; }
int64_t* counter_of(const struct window* window) { return (int64_t*)(window->mine + kCounter); }
int64_t* word_of(const struct window* window) { return (int64_t*)(window->mine + kWord); }

static void put(const struct window* window, int target) {
  ++put_value;
  MPI_Put(&put_value, 1, MPI_INT64_T, target, window->begin + kWord, 1, MPI_INT64_T, window->handle);
}

static void put_flush(const struct window* window, int target) {
  put(window, target);
  MPI_Win_flush(target, window->handle);
}

static void get_flush(const struct window* window, int target) {
  MPI_Get(&got_value, 1, MPI_INT64_T, target, window->begin + kWord, 1, MPI_INT64_T, window->handle);
  MPI_Win_flush(target, window->handle);
}

static void fetch_and_op_flush(const struct window* window, int target) {
  static const int64_t one = 1;
  MPI_Fetch_and_op(&one, &got_value, MPI_INT64_T, target, window->begin + kCounter, MPI_SUM, window->handle);
  MPI_Win_flush(target, window->handle);
}

static void accumulate_flush(const struct window* window, int target) {
  static double addends[kSumCount];
  MPI_Accumulate(addends, kSumCount, MPI_DOUBLE, target, window->begin + kSums, kSumCount, MPI_DOUBLE, MPI_SUM,
                 window->handle);
  MPI_Win_flush(target, window->handle);
}

static void lock_unlock(const struct window* window, int target) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->handle);
  MPI_Win_unlock(target, window->handle);
}

static void lock_put_unlock(const struct window* window, int target) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->handle);
  put(window, target);
  MPI_Win_unlock(target, window->handle);
}

static void shared_lock_put_unlock(const struct window* window, int target) {
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window->handle);
  put(window, target);
  MPI_Win_unlock(target, window->handle);
}

static void puts_100_flush(const struct window* window, int target) {
  for (int i = 0; i < 100; ++i) put(window, target);
  MPI_Win_flush(target, window->handle);
}

static void lock_all_put_flush_unlock_all(const struct window* window, int target) {
  MPI_Win_lock_all(0, window->handle);
  put_flush(window, target);
  MPI_Win_unlock_all(window->handle);
}

/* The end has no name. */
static const struct call kCalls[] = {{"put_flush", put_flush, 1, 0},
                                     {"get_flush", get_flush, 1, 0},
                                     {"fetch_and_op_flush", fetch_and_op_flush, 1, 1},
                                     {"accumulate_4KiB_flush", accumulate_flush, 1, 0},
                                     {"lock_unlock", lock_unlock, 0, 0},
                                     {"lock_put_unlock", lock_put_unlock, 0, 0},
                                     {"shared_lock_put_unlock", shared_lock_put_unlock, 0, 0},
                                     {"100_puts_flush", puts_100_flush, 1, 0},
                                     {"lock_all_put_flush_unlock_all", lock_all_put_flush_unlock_all, 0, 0},
                                     {NULL, NULL, 0, 0}};

const struct call* call_of_name(const char* name) {
  for (const struct call* call = kCalls; call->name != NULL; ++call) {
    if (strcmp(call->name, name) == 0) return call;
  }
  fail(name);
  return NULL;
}

struct window make_window(const char* kind, char* stack, int target) {
  struct window window = {MPI_WIN_NULL, 0, stack};
  if (strcmp(kind, "allocate") == 0) {
    MPI_Win_allocate(kWindowBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.mine, &window.handle);
  } else if (strcmp(kind, "dynamic") == 0) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window.handle);
    MPI_Win_attach(window.handle, stack, kWindowBytes);
    MPI_Get_address(stack, &window.begin);
    MPI_Bcast(&window.begin, 1, MPI_AINT, target, MPI_COMM_WORLD);
  } else {
    if (strcmp(kind, "alloc_mem") == 0) {
      MPI_Alloc_mem(kWindowBytes, MPI_INFO_NULL, &window.mine);
    } else if (strcmp(kind, "create") != 0) {
      fail(kind);
    }
    MPI_Win_create(window.mine, kWindowBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window.handle);
  }
  MPI_Win_set_errhandler(window.handle, MPI_ERRORS_ARE_FATAL);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, g_rank, 0, window.handle);
  memset(window.mine, 0, kWindowBytes);
  MPI_Win_unlock(g_rank, window.handle);
  MPI_Barrier(MPI_COMM_WORLD);
  return window;
}

void free_window(struct window* window, const char* kind) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(kind, "dynamic") == 0) MPI_Win_detach(window->handle, window->mine);
  MPI_Win_free(&window->handle);
  if (strcmp(kind, "alloc_mem") == 0) MPI_Free_mem(window->mine);
}
