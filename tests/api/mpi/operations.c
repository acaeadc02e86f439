/* Every operation's right value, in windows of each kind and in each kind of epoch; predefined and derived types.
 *
 * usage: operations allocate|shared|create|alloc_mem|dynamic
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

enum { kNumbers = 64 };

static MPI_Win window;
static long* memory;
static MPI_Aint* bases; /* dynamic windows: of each rank's memory; else 0 */

static MPI_Aint at(int rank, int number) {
  return bases[rank] != 0 ? MPI_Aint_add(bases[rank], (MPI_Aint)(number * sizeof(long))) : number;
}

static void make_window(const char* kind) {
  const MPI_Aint bytes = kNumbers * sizeof(long);
  bases = calloc((size_t)ranks, sizeof *bases);
  if (strcmp(kind, "allocate") == 0) {
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else if (strcmp(kind, "shared") == 0) {
    MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else if (strcmp(kind, "create") == 0) {
    static long own[kNumbers];
    memory = own;
    MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  } else if (strcmp(kind, "alloc_mem") == 0) {
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  } else {
    MPI_Aint mine = 0;
    memory = malloc((size_t)bytes);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_attach(window, memory, bytes);
    MPI_Get_address(memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
  }
}

static void free_window(const char* kind) {
  if (strcmp(kind, "dynamic") == 0) MPI_Win_detach(window, memory);
  MPI_Win_free(&window);
  CHECK(window == MPI_WIN_NULL);
  if (strcmp(kind, "alloc_mem") == 0) MPI_Free_mem(memory);
  if (strcmp(kind, "dynamic") == 0) free(memory);
  free(bases);
}

static void clear(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, window);
  for (int i = 0; i < kNumbers; ++i) memory[i] = 1000 * me + i;
  MPI_Win_unlock(me, window);
  MPI_Barrier(MPI_COMM_WORLD);
}

static long own(int number) {
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
  const long value = memory[number];
  MPI_Win_unlock(me, window);
  return value;
}

static int next_rank(void) { return (me + 1) % ranks; }
static int last_rank(void) { return (me + ranks - 1) % ranks; }

static void move_in_a_lock(void) {
  long value = 7 + me, got = 0;
  clear();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
  MPI_Put(&value, 1, MPI_LONG, next_rank(), at(next_rank(), 3), 1, MPI_LONG, window);
  MPI_Win_flush(next_rank(), window);
  MPI_Get(&got, 1, MPI_LONG, next_rank(), at(next_rank(), 3), 1, MPI_LONG, window);
  MPI_Win_unlock(next_rank(), window);
  CHECK_EQUAL(got, value);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(own(3), 7 + last_rank());
  MPI_Barrier(MPI_COMM_WORLD);
}

static void move_in_lock_all(void) {
  long got[kNumbers];
  clear();
  MPI_Win_lock_all(0, window);
  for (int rank = 0; rank < ranks; ++rank) {
    const long value = 100 * me + rank;
    MPI_Put(&value, 1, MPI_LONG, rank, at(rank, me), 1, MPI_LONG, window);
    MPI_Win_flush(rank, window); /* the value ends here */
  }
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Get(got, ranks, MPI_LONG, rank, at(rank, 0), ranks, MPI_LONG, window);
    MPI_Win_flush_local(rank, window);
    for (int origin = 0; origin < ranks; ++origin) CHECK_EQUAL(got[origin], 100 * origin + rank);
  }
  MPI_Win_flush_local_all(window);
  MPI_Win_sync(window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void update(void) {
  const long one = 1, thousand = 1000;
  long old = -1, zero = 0;
  clear();
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&thousand, 1, MPI_LONG, 0, at(0, 5), 1, MPI_LONG, MPI_SUM, window);
  MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at(0, 6), MPI_SUM, window);
  MPI_Win_flush(0, window);
  CHECK(old >= 6 && old < 6 + ranks);
  MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, 0, at(0, 7), 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush(0, window);
  CHECK(old >= 7 && old < 7 + ranks);
  MPI_Accumulate(&thousand, 1, MPI_LONG, 0, at(0, 8), 1, MPI_LONG, MPI_MAX, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Fetch_and_op(&zero, &old, MPI_LONG, 0, at(0, 5), MPI_NO_OP, window);
  MPI_Win_flush(0, window);
  CHECK_EQUAL(old, 5 + 1000 * ranks);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    CHECK_EQUAL(own(6), 6 + ranks);
    CHECK_EQUAL(own(7), 7 + ranks);
    CHECK_EQUAL(own(8), 1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A counter that is raised by compare-and-swap loses no step. */
static void compare_and_swap(void) {
  enum { kSteps = 40 };
  clear();
  MPI_Win_lock_all(0, window);
  for (int step = 0; step < kSteps; ++step) {
    long seen = 9, found = 0, wanted = 0;
    for (;;) {
      wanted = seen + 1;
      MPI_Compare_and_swap(&wanted, &seen, &found, MPI_LONG, 0, at(0, 9), window);
      MPI_Win_flush(0, window);
      if (found == seen) break;
      seen = found;
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) CHECK_EQUAL(own(9), 9 + kSteps * ranks);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void move_between_fences(void) {
  long value = 500 + me, got = 0;
  clear();
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  MPI_Put(&value, 1, MPI_LONG, next_rank(), at(next_rank(), 10), 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  CHECK_EQUAL(memory[10], 500 + last_rank());
  MPI_Get(&got, 1, MPI_LONG, last_rank(), at(last_rank(), 10), 1, MPI_LONG, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  CHECK_EQUAL(got, 500 + (me + 2 * ranks - 2) % ranks);
}

static void move_by_post_and_start(void) {
  MPI_Group all, to, from;
  long value = 900 + me;
  const int next = next_rank(), last = last_rank();
  clear();
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &next, &to);
  MPI_Group_incl(all, 1, &last, &from);
  for (int round = 0; round < 3; ++round, value += 10) {
    MPI_Win_post(from, 0, window);
    MPI_Win_start(to, 0, window);
    MPI_Put(&value, 1, MPI_LONG, next, at(next, 11), 1, MPI_LONG, window);
    MPI_Win_complete(window);
    if (round == 1) {
      int done = 0;
      while (!done) MPI_Win_test(window, &done);
    } else {
      MPI_Win_wait(window);
    }
    CHECK_EQUAL(memory[11], 900 + last + 10 * round);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Every second number of the target from a row, and back with the gaps on the origin's side. */
static void move_derived_types(void) {
  long row[8], spread[16];
  MPI_Datatype every_second, pair;
  const int lengths[2] = {1, 2}, places[2] = {6, 1};
  clear();
  MPI_Type_vector(8, 1, 2, MPI_LONG, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Type_indexed(2, lengths, places, MPI_LONG, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 8; ++i) row[i] = 10 * i + me;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
  MPI_Put(row, 8, MPI_LONG, next_rank(), at(next_rank(), 20), 1, every_second, window);
  MPI_Win_flush(next_rank(), window);
  for (int i = 0; i < 16; ++i) spread[i] = -1;
  MPI_Get(spread, 1, every_second, next_rank(), at(next_rank(), 20), 1, every_second, window);
  MPI_Accumulate(row, 3, MPI_LONG, next_rank(), at(next_rank(), 40), 1, pair, MPI_SUM, window);
  MPI_Type_free(&pair); /* at once: the operation that was started is carried out */
  MPI_Win_unlock(next_rank(), window);
  for (int i = 0; i < 15; ++i) CHECK_EQUAL(spread[i], i % 2 == 0 ? 10 * (i / 2) + me : -1);
  MPI_Type_free(&every_second);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 15; ++i) CHECK_EQUAL(own(20 + i), i % 2 == 0 ? 10 * (i / 2) + last_rank() : 1000 * me + 20 + i);
  CHECK_EQUAL(own(46), 1000 * me + 46 + last_rank());
  CHECK_EQUAL(own(41), 1000 * me + 41 + 10 + last_rank());
  CHECK_EQUAL(own(42), 1000 * me + 42 + 20 + last_rank());
  CHECK_EQUAL(own(43), 1000 * me + 43);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Of equal values the lower place; the gap of a pair is left alone. */
static void update_pairs(void) {
  struct pair {
    double value;
    int place;
    int gap;
  } mine, * const kept = (struct pair*)(void*)(memory + 50);
  clear();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, window);
  kept->value = -1;
  kept->place = 77;
  kept->gap = 12345;
  MPI_Win_unlock(me, window);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(&mine, 0, sizeof mine);
  mine.value = 3;
  mine.place = me;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, at(0, 50), 1, MPI_DOUBLE_INT, MPI_MAXLOC, window);
  MPI_Win_unlock(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    CHECK(kept->value == 3);
    CHECK_EQUAL(kept->place, 0);
    CHECK_EQUAL(kept->gap, 12345);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void reach_no_process(void) {
  long value = 1;
  MPI_Request request;
  MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, window);
  MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window);
  MPI_Get(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window);
  MPI_Accumulate(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, window);
  MPI_Rput(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(MPI_PROC_NULL, window);
  MPI_Win_unlock(MPI_PROC_NULL, window);
  CHECK_EQUAL(value, 1);
}

int main(int argc, char** argv) {
  const char* const kind = argc > 1 ? argv[1] : "allocate";
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  make_window(kind);
  move_in_a_lock();
  move_in_lock_all();
  update();
  compare_and_swap();
  move_between_fences();
  move_by_post_and_start();
  move_derived_types();
  update_pairs();
  reach_no_process();
  free_window(kind);
  return finish();
}
