/* What a profiler counts, in front of libgrapnel-mpi and behind it: a put to a taken window, and one to a window that
 * info leaves to the host.
 *
 * usage: profiled PUTS: how many of the two puts it counts
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "support.h"

static void put_once(MPI_Info info, long number) {
  MPI_Win window;
  long* memory;
  const int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
  const long value = number + me;
  /* 64 bytes: Debian 12's MPICH was seen to round the bases of its own windows down to multiples of 16. */
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), info, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  CHECK_EQUAL(*memory, number + last);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Info off;
  const int* puts;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  puts = dlsym(RTLD_DEFAULT, "profiler_puts");
  CHECK(puts != NULL);
  put_once(MPI_INFO_NULL, 100);
  MPI_Info_create(&off);
  MPI_Info_set(off, "grapnel", "off");
  put_once(off, 200);
  MPI_Info_free(&off);
  if (puts != NULL) CHECK_EQUAL(*puts, atoi(argv[1]));
  return finish();
}
