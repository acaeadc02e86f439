/* Started with the library for another MPI preloaded: every call passes, requests and messages too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

int main(int argc, char** argv) {
  MPI_Win window;
  MPI_Request requests[2];
  long* memory;
  long value, received = -1;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  value = 40 + me;
  MPI_Win_allocate(16 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, (me + 1) % ranks, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  CHECK_EQUAL(memory[0], 40 + (me + ranks - 1) % ranks);
  MPI_Win_free(&window);
  MPI_Irecv(&received, 1, MPI_LONG, (me + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&value, 1, MPI_LONG, (me + 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(received, 40 + (me + ranks - 1) % ranks);
  return finish();
}
