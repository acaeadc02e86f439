/* SPDX-License-Identifier: Apache-2.0 */
/* MPI-3 one-sided communication with a passive target. See peer.h. One window is locked by everybody all the time, as
 * libraries on top of MPI do it; the lock is an exclusive one of another window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { kTarget = 1 };

static MPI_Win window, lock_window;
static MPI_Datatype rows_type;
static struct peer_rows rows_shape;

static void must(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "mpi_rma peer: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int peer_start(int* argc, char*** argv) {
  int rank, size;
  MPI_Init(argc, argv); /* errors are fatal: the default of communicators; windows below get it too */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(size == 2, "a job of two ranks is wanted");
  return rank;
}

void peer_finish(void) {
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Win_free(&lock_window);
  if (rows_shape.rows != 0) MPI_Type_free(&rows_type);
  MPI_Finalize();
}

char* peer_allocate(size_t bytes) {
  char *mine, *lock_word;
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
  MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &lock_word, &lock_window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_ARE_FATAL);
  MPI_Win_set_errhandler(lock_window, MPI_ERRORS_ARE_FATAL);
  memset(mine, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  return mine;
}

void peer_barrier(void) {
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
}

void peer_put(const void* local, size_t offset, size_t bytes) {
  MPI_Put(local, (int)bytes, MPI_BYTE, kTarget, (MPI_Aint)offset, (int)bytes, MPI_BYTE, window);
  MPI_Win_flush_local(kTarget, window);
}

static void make_rows_type(const struct peer_rows* shape) {
  if (memcmp(shape, &rows_shape, sizeof *shape) == 0) return;
  if (rows_shape.rows != 0) MPI_Type_free(&rows_type); /* MPI keeps it for what is under way */
  rows_shape = *shape;
  MPI_Type_vector(shape->rows, (int)shape->row_bytes, (int)shape->stride, MPI_BYTE, &rows_type);
  MPI_Type_commit(&rows_type);
}

void peer_put_rows(const void* local, size_t offset, const struct peer_rows* shape) {
  make_rows_type(shape);
  MPI_Put(local, 1, rows_type, kTarget, (MPI_Aint)offset, 1, rows_type, window);
  MPI_Win_flush_local(kTarget, window);
}

void peer_accumulate(const void* local, size_t offset, size_t bytes) {
  const int count = (int)(bytes / sizeof(double));
  MPI_Accumulate(local, count, MPI_DOUBLE, kTarget, (MPI_Aint)offset, count, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_flush_local(kTarget, window);
}

void peer_fence(void) { MPI_Win_flush(kTarget, window); }

void peer_get(void* local, size_t offset, size_t bytes) {
  MPI_Get(local, (int)bytes, MPI_BYTE, kTarget, (MPI_Aint)offset, (int)bytes, MPI_BYTE, window);
  MPI_Win_flush(kTarget, window);
}

int64_t peer_fetch_and_add(size_t offset, int64_t increment) {
  int64_t old = 0;
  MPI_Fetch_and_op(&increment, &old, MPI_INT64_T, kTarget, (MPI_Aint)offset, MPI_SUM, window);
  MPI_Win_flush(kTarget, window);
  return old;
}

void peer_lock(void) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, lock_window); }
void peer_unlock(void) { MPI_Win_unlock(kTarget, lock_window); }
