/* SPDX-License-Identifier: Apache-2.0 */
/* ARMCI, whoever's: compiled against our armci.h and against ARMCI-MPI's. See peer.h. */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* ARMCI-MPI's header defines ARMCI_MPI. A build that mixed up the two would measure the wrong one. */
#if defined(PEER_IS_OURS) && defined(ARMCI_MPI)
#error "this armci.h is ARMCI-MPI's, not Grapnel's"
#elif !defined(PEER_IS_OURS) && !defined(ARMCI_MPI)
#error "this armci.h is not ARMCI-MPI's"
#endif

enum { kOrigin = 0, kTarget = 1 };

static char* base[2];

static void must(int code, const char* call) {
  if (code == 0) return;
  fprintf(stderr, "armci peer: %s answered %d\n", call, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int peer_start(int* argc, char*** argv) {
  int rank, size;
  MPI_Init(argc, argv);
  must(ARMCI_Init(), "ARMCI_Init");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) must(-1, "a job of two ranks is wanted; it");
  must(ARMCI_Create_mutexes(rank == kTarget ? 1 : 0), "ARMCI_Create_mutexes");
  return rank;
}

void peer_finish(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  must(ARMCI_Destroy_mutexes(), "ARMCI_Destroy_mutexes");
  must(ARMCI_Free(base[rank]), "ARMCI_Free");
  must(ARMCI_Finalize(), "ARMCI_Finalize");
  MPI_Finalize();
}

char* peer_allocate(size_t bytes) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  must(ARMCI_Malloc((void**)base, (armci_size_t)bytes), "ARMCI_Malloc");
  ARMCI_Access_begin(base[rank]);
  memset(base[rank], 0, bytes);
  ARMCI_Access_end(base[rank]);
  ARMCI_Barrier();
  return base[rank];
}

void peer_barrier(void) { ARMCI_Barrier(); }

void peer_put(const void* local, size_t offset, size_t bytes) {
  must(ARMCI_Put((void*)local, base[kTarget] + offset, (int)bytes, kTarget), "ARMCI_Put");
}

void peer_put_rows(const void* local, size_t offset, const struct peer_rows* shape) {
  int stride = (int)shape->stride;
  int count[2] = {(int)shape->row_bytes, shape->rows};
  must(ARMCI_PutS((void*)local, &stride, base[kTarget] + offset, &stride, count, 1, kTarget), "ARMCI_PutS");
}

void peer_accumulate(const void* local, size_t offset, size_t bytes) {
  double one = 1;
  must(ARMCI_Acc(ARMCI_ACC_DBL, &one, (void*)local, base[kTarget] + offset, (int)bytes, kTarget), "ARMCI_Acc");
}

void peer_fence(void) { ARMCI_Fence(kTarget); }

void peer_get(void* local, size_t offset, size_t bytes) {
  must(ARMCI_Get(base[kTarget] + offset, local, (int)bytes, kTarget), "ARMCI_Get");
}

int64_t peer_fetch_and_add(size_t offset, int64_t increment) {
  long old = 0;
  must(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, base[kTarget] + offset, (int)increment, kTarget), "ARMCI_Rmw");
  return old;
}

void peer_lock(void) { ARMCI_Lock(0, kTarget); }
void peer_unlock(void) { ARMCI_Unlock(0, kTarget); }
