/* A profiler: a library whose calls count and call PMPI. In front of libgrapnel-mpi it counts the program's calls;
 * behind it, those that pass to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>

int profiler_puts, profiler_sends, profiler_fences;

int MPI_Put(const void* origin, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
            MPI_Datatype target_type, MPI_Win win) {
  ++profiler_puts;
  return PMPI_Put(origin, count, type, target, at, target_count, target_type, win);
}

int MPI_Win_fence(int assertion, MPI_Win win) {
  ++profiler_fences;
  return PMPI_Win_fence(assertion, win);
}

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  ++profiler_sends;
  return PMPI_Send(buffer, count, type, target, tag, comm);
}
