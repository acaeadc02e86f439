/* A job whose ranks stay in one kind of call until one of them is killed (kill_test.py). Each rank prints
 * "ready RANK PROCESS" when it has been through once.
 *
 * usage: staying stay lock|fence|get
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "support.h"

static MPI_Win window;
static long value, found;

static int any_rank(void) { return rand() % ranks; }

static void lock(void) {
  const int target = any_rank();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
  MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window);
  MPI_Win_unlock(target, window);
}

static void fence(void) {
  MPI_Put(&value, 1, MPI_LONG, any_rank(), 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
}

static void get(void) {
  const int target = any_rank();
  MPI_Get(&found, 1, MPI_LONG, target, 0, 1, MPI_LONG, window);
  MPI_Win_flush(target, window);
}

static const struct {
  const char* name;
  void (*call)(void);
} ways[] = {{"lock", lock}, {"fence", fence}, {"get", get}};

int main(int argc, char** argv) {
  void (*call)(void) = NULL;
  long* memory = NULL;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    if (argc > 2 && strcmp(argv[2], ways[i].name) == 0) call = ways[i].call;
  }
  CHECK(call != NULL);
  if (call == NULL) return finish();
  srand((unsigned)me);
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  if (call == fence) MPI_Win_fence(0, window);
  if (call == get) MPI_Win_lock_all(0, window);
  call();
  printf("ready %d %ld\n", me, (long)getpid());
  fflush(stdout);
  for (;;) call();
}
