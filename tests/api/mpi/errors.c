/* Every mistake that MPI names: its class, from the window's error handler, and nothing has changed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static MPI_Win window;
static long* memory;

#define FAILS(call, error_class) CHECK_EQUAL(class_of(call), error_class)
#define WORKS(call) CHECK_EQUAL(class_of(call), MPI_SUCCESS)

static long value;
static long put(int count, MPI_Datatype type, int rank, MPI_Aint at) {
  return MPI_Put(&value, count, type, rank, at, count, type, window);
}

static void arguments(void) {
  long result = 0;
  MPI_Op own;
  struct {
    float re, im;
  } complex = {0, 0}, old;
  WORKS(MPI_Win_lock_all(0, window));
  FAILS(put(-1, MPI_LONG, 0, 0), MPI_ERR_COUNT);
  FAILS(put(1, MPI_DATATYPE_NULL, 0, 0), MPI_ERR_TYPE);
  FAILS(put(1, MPI_LONG, ranks, 0), MPI_ERR_RANK);
  FAILS(put(1, MPI_LONG, -7, 0), MPI_ERR_RANK);
  FAILS(put(1, MPI_LONG, 0, -1), MPI_ERR_DISP);
  FAILS(put(1, MPI_LONG, 0, 8), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Get(&value, 9, MPI_LONG, 0, 0, 9, MPI_LONG, window), MPI_ERR_RMA_RANGE);
  FAILS(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, window), MPI_ERR_OP);
  FAILS(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_MAXLOC, window), MPI_ERR_OP);
  FAILS(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, window), MPI_ERR_OP);
  FAILS(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window), MPI_ERR_TYPE);
  FAILS(MPI_Fetch_and_op(&value, &result, MPI_DATATYPE_NULL, 0, 0, MPI_SUM, window), MPI_ERR_TYPE);
  FAILS(MPI_Fetch_and_op(&complex, &old, MPI_C_FLOAT_COMPLEX, 0, 0, MPI_MAX, window), MPI_ERR_OP);
  FAILS(MPI_Compare_and_swap(&value, &value, &result, MPI_DOUBLE, 0, 0, window), MPI_ERR_TYPE);
  FAILS(MPI_Compare_and_swap(&value, &value, &result, MPI_LONG, ranks, 0, window), MPI_ERR_RANK);
  FAILS(MPI_Win_flush(ranks, window), MPI_ERR_RANK);
  MPI_Op_create((MPI_User_function*)(void*)abort, 1, &own);
  FAILS(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, own, window), MPI_ERR_OP);
  MPI_Op_free(&own);
  WORKS(MPI_Win_unlock_all(window));
}

static void assertions(void) {
  MPI_Group group;
  FAILS(MPI_Win_lock(12345, 0, 0, window), MPI_ERR_LOCKTYPE);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPRECEDE, window), MPI_ERR_ASSERT);
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, window), MPI_ERR_RANK);
  FAILS(MPI_Win_lock_all(MPI_MODE_NOSUCCEED, window), MPI_ERR_ASSERT);
  FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, window), MPI_ERR_ASSERT);
  FAILS(MPI_Win_post(MPI_GROUP_NULL, 0, window), MPI_ERR_GROUP);
  FAILS(MPI_Win_start(MPI_GROUP_NULL, 0, window), MPI_ERR_GROUP);
  MPI_Win_get_group(window, &group);
  FAILS(MPI_Win_post(group, MPI_MODE_NOPRECEDE, window), MPI_ERR_ASSERT);
  FAILS(MPI_Win_start(group, MPI_MODE_NOSTORE, window), MPI_ERR_ASSERT);
  MPI_Group_free(&group);
}

static void epochs(void) {
  MPI_Request request;
  int flag = 0;
  FAILS(put(1, MPI_LONG, 0, 0), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Rput(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window, &request), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_unlock_all(window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush_all(window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush_local(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_flush_local_all(window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_complete(window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_wait(window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_test(window, &flag), MPI_ERR_RMA_SYNC);
  WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
  FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_lock_all(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_fence(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
  if (ranks > 1) FAILS(put(1, MPI_LONG, 1, 0), MPI_ERR_RMA_SYNC);
  WORKS(MPI_Win_unlock(0, window));
  WORKS(MPI_Win_lock_all(0, window));
  FAILS(MPI_Win_unlock(0, window), MPI_ERR_RMA_SYNC);
  FAILS(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
  WORKS(MPI_Win_unlock_all(window));
}

static void memory_of_windows(void) {
  MPI_Aint size;
  int unit;
  void* base;
  FAILS(MPI_Win_attach(window, memory, 8), MPI_ERR_RMA_FLAVOR);
  FAILS(MPI_Win_detach(window, memory), MPI_ERR_RMA_FLAVOR);
  FAILS(MPI_Win_shared_query(window, ranks, &size, &unit, &base), MPI_ERR_RANK);
}

static int handled;
static void handler(MPI_Win* where, int* code, ...) {
  if (*where == window && class_of(*code) == MPI_ERR_RANK) ++handled;
}

static void handlers(void) {
  MPI_Errhandler own;
  MPI_Win_create_errhandler(handler, &own);
  MPI_Win_set_errhandler(window, own);
  MPI_Errhandler_free(&own);
  FAILS(MPI_Win_flush(ranks, window), MPI_ERR_RANK);
  CHECK_EQUAL(handled, 1);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
}

/* usage: errors [fatal]: the second ends the job by its first mistake. */
int main(int argc, char** argv) {
  const int fatal = argc > 1 && strcmp(argv[1], "fatal") == 0;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < 8; ++i) memory[i] = 40 + i;
  if (fatal) MPI_Win_flush(ranks + 3, window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  arguments();
  assertions();
  epochs();
  memory_of_windows();
  handlers();
  for (int i = 0; i < 8; ++i) CHECK_EQUAL(memory[i], 40 + i);
  WORKS(MPI_Win_free(&window));
  return finish();
}
