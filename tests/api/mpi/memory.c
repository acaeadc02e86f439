/* Windows on memory that is no segment: of the stack, of malloc, of the program's data, at any byte; and dynamic
 * windows, which gain and lose memory while they live.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

enum { kBytes = 40000 };

static MPI_Win window;

static int next_rank(void) { return (me + 1) % ranks; }
static int last_rank(void) { return (me + ranks - 1) % ranks; }

/* Puts a row of bytes at an odd place, adds to a number beside it, and reads both back. */
static void use_created(char* base, MPI_Aint bytes) {
  char row[1000], got[1000];
  int number = 0, old = -1;
  char* const first = base;
  memset(base, 0, (size_t)bytes);
  memset(row, 'a' + me, sizeof row);
  MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
  MPI_Put(row, sizeof row, MPI_CHAR, next_rank(), 3, sizeof row, MPI_CHAR, window);
  MPI_Win_flush(next_rank(), window);
  MPI_Get(got, sizeof got, MPI_CHAR, next_rank(), 3, sizeof got, MPI_CHAR, window);
  MPI_Win_unlock(next_rank(), window);
  CHECK(memcmp(row, got, sizeof row) == 0);
  number = 1 + me;
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&number, 1, MPI_INT, 0, bytes - 4, 1, MPI_INT, MPI_SUM, window);
  MPI_Fetch_and_op(&number, &old, MPI_INT, 0, bytes - 4, MPI_NO_OP, window);
  MPI_Win_unlock_all(window);
  CHECK(old >= number && old <= ranks * (ranks + 1) / 2);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
  for (int i = 0; i < 1000; ++i) CHECK_EQUAL(first[3 + i], 'a' + last_rank());
  CHECK_EQUAL(first[2], 0);
  CHECK_EQUAL(first[1003], 0);
  memcpy(&number, first + bytes - 4, 4);
  if (me == 0) CHECK_EQUAL(number, ranks * (ranks + 1) / 2);
  MPI_Win_unlock(me, window);
  MPI_Win_free(&window);
}

static void created(void) {
  static char data[kBytes];
  char stack[3000];
  char* const heap = malloc(kBytes);
  use_created(data, kBytes);
  use_created(data + 5, kBytes - 5);
  use_created(stack + 1, sizeof stack - 1);
  use_created(heap + 7, kBytes - 7);
  free(heap);
}

/* Members with memory of different kinds and lengths, none among them. */
static void mixture(void) {
  static long data[4];
  long* own = NULL;
  long value = 50 + me;
  MPI_Aint bytes = 0;
  if (me == 0) own = data, bytes = sizeof data;
  if (me == 1) MPI_Alloc_mem(2 * sizeof(long), MPI_INFO_NULL, &own), bytes = 2 * sizeof(long);
  MPI_Win_create(own, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  if (me == ranks - 1) {
    MPI_Put(&value, 1, MPI_LONG, 0, 3, 1, MPI_LONG, window);
    if (ranks > 1) MPI_Put(&value, 1, MPI_LONG, 1, 1, 1, MPI_LONG, window);
    if (ranks > 2) CHECK_EQUAL(class_of(MPI_Put(&value, 1, MPI_LONG, 2, 0, 1, MPI_LONG, window)), MPI_ERR_RMA_RANGE);
  }
  MPI_Win_fence(0, window);
  if (me == 0) CHECK_EQUAL(data[3], 50 + ranks - 1);
  if (me == 1) CHECK_EQUAL(own[1], 50 + ranks - 1);
  MPI_Win_free(&window);
  if (me == 1) MPI_Free_mem(own);
}

static MPI_Aint their_address(const void* mine) {
  MPI_Aint address = 0;
  MPI_Aint* const all = malloc((size_t)ranks * sizeof *all);
  MPI_Get_address(mine, &address);
  MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  address = all[next_rank()];
  free(all);
  return address;
}

/* Many pieces of memory, detached in another order than attached; the previous rank writes each. */
static void pieces(void) {
  enum { kPieces = 40 };
  long* piece[kPieces];
  MPI_Aint there[kPieces];
  for (int i = 0; i < kPieces; ++i) {
    piece[i] = calloc((size_t)i + 1, sizeof(long));
    MPI_Win_attach(window, piece[i], (i + 1) * (MPI_Aint)sizeof(long));
    there[i] = their_address(piece[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kPieces; ++i) {
    const long value = 1000 * me + i;
    MPI_Put(&value, 1, MPI_LONG, next_rank(), MPI_Aint_add(there[i], i * (MPI_Aint)sizeof(long)), 1, MPI_LONG, window);
    MPI_Win_flush(next_rank(), window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPieces; ++i) {
    const int at = (i * 7 + 3) % kPieces;
    CHECK_EQUAL(piece[at][at], 1000 * last_rank() + at);
    MPI_Win_detach(window, piece[at]);
    free(piece[at]);
  }
}

/* A type of addresses from MPI_BOTTOM, on both sides. */
static void addresses(void) {
  long numbers[6] = {0}, source[3] = {7 + me, 8 + me, 9 + me};
  const int lengths[2] = {1, 2};
  const MPI_Aint there = their_address(numbers);
  MPI_Aint from[2], to[2] = {MPI_Aint_add(there, 5 * (MPI_Aint)sizeof(long)), there};
  MPI_Datatype here, at_target;
  MPI_Get_address(&source[0], &from[0]);
  MPI_Get_address(&source[1], &from[1]);
  MPI_Type_create_hindexed(2, lengths, from, MPI_LONG, &here);
  MPI_Type_create_hindexed(2, lengths, to, MPI_LONG, &at_target);
  MPI_Type_commit(&here);
  MPI_Type_commit(&at_target);
  MPI_Win_attach(window, numbers, sizeof numbers);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
  MPI_Put(MPI_BOTTOM, 1, here, next_rank(), (MPI_Aint)MPI_BOTTOM, 1, at_target, window);
  MPI_Win_unlock(next_rank(), window);
  MPI_Type_free(&here);
  MPI_Type_free(&at_target);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(numbers[5], 7 + last_rank());
  CHECK_EQUAL(numbers[0], 8 + last_rank());
  CHECK_EQUAL(numbers[1], 9 + last_rank());
  CHECK_EQUAL(numbers[2], 0);
  MPI_Win_detach(window, numbers);
}

/* A write to memory that is not attached is refused: by the call, or, from another node, by the next flush. */
static int refused(int code) {
  const int flushed = class_of(MPI_Win_flush(next_rank(), window));
  return class_of(code) == MPI_ERR_RMA_RANGE || (class_of(code) == MPI_SUCCESS && flushed == MPI_ERR_RMA_RANGE);
}

static void mistakes_of_dynamic(void) {
  static char room[64];
  long value = 3;
  const MPI_Aint there = their_address(room);
  CHECK_EQUAL(class_of(MPI_Win_attach(window, room, -1)), MPI_ERR_SIZE);
  CHECK_EQUAL(class_of(MPI_Win_detach(window, room)), MPI_ERR_RMA_ATTACH);
  CHECK_EQUAL(class_of(MPI_Win_attach(window, room, 32)), MPI_SUCCESS);
  CHECK_EQUAL(class_of(MPI_Win_attach(window, room + 16, 32)), MPI_ERR_RMA_ATTACH);
  CHECK_EQUAL(class_of(MPI_Win_detach(window, room + 16)), MPI_ERR_RMA_ATTACH);
  CHECK_EQUAL(class_of(MPI_Win_attach(window, room + 32, 16)), MPI_SUCCESS);
  CHECK_EQUAL(class_of(MPI_Win_detach(window, room + 32)), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  CHECK_EQUAL(class_of(MPI_Put(&value, 8, MPI_BYTE, next_rank(), MPI_Aint_add(there, 24), 8, MPI_BYTE, window)),
              MPI_SUCCESS);
  CHECK_EQUAL(class_of(MPI_Win_flush(next_rank(), window)), MPI_SUCCESS);
  CHECK(refused(MPI_Put(&value, 8, MPI_BYTE, next_rank(), MPI_Aint_add(there, 28), 8, MPI_BYTE, window)));
  CHECK(refused(MPI_Get(&value, 8, MPI_BYTE, next_rank(), MPI_Aint_add(there, 48), 8, MPI_BYTE, window)));
  CHECK(
      refused(MPI_Accumulate(&value, 1, MPI_LONG, next_rank(), MPI_Aint_add(there, 32), 1, MPI_LONG, MPI_SUM, window)));
  CHECK_EQUAL(class_of(MPI_Win_flush(next_rank(), window)), MPI_SUCCESS); /* one flush reports it */
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 32; i < 64; ++i) CHECK_EQUAL(room[i], 0);
}

static void dynamic(void) {
  MPI_Aint* size = NULL;
  void* base = &base;
  int flag = 0;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
  CHECK(flag && base == MPI_BOTTOM);
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &size, &flag);
  CHECK(flag && *size == 0);
  pieces();
  addresses();
  mistakes_of_dynamic();
  MPI_Win_free(&window); /* with memory attached */
}

int main(int argc, char** argv) {
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  created();
  mixture();
  dynamic();
  return finish();
}
