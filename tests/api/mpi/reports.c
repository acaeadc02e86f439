/* Ways in which windows of MPI libraries were reported to lose data, hang or crash: small programs in one.
 *
 * usage: reports NAME [NUMBER]
 *   odd_bases        memory at any byte is a window of its own base, and nothing in front of it is written
 *   lock_mixture     exclusive locks of one rank and lock_all of the others by turns
 *   polled_counter   a rank that polls by fetches sees the others' additions
 *   swapped_counter  64-bit compare-and-swap loses no step
 *   vector_requests  a vector's data is there when its request is complete
 *   many_requests    NUMBER requests outstanding at once
 *   fetched_gaps     fetches into a type with gaps leave these alone
 *   indexed_sums     indexed origins from MPI_BOTTOM are added once each
 *   computing_target operations end while the target computes
 *   many_windows     NUMBER windows at once; from 1,500 on, an error is allowed
 *   repeated_windows NUMBER windows one after the other
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static MPI_Win window;

static int next_rank(void) { return (me + 1) % ranks; }
static int last_rank(void) { return (me + ranks - 1) % ranks; }

static void* allocate(MPI_Aint bytes, int unit) {
  void* memory = NULL;
  MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return memory;
}

static void odd_bases(int number) {
  static char room[128];
  (void)number;
  for (int start = 0; start < 24; ++start) {
    const char mark = (char)(100 + me);
    char* base = NULL;
    int flag = 0;
    memset(room, 0, sizeof room);
    MPI_Win_create(room + start, 3, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == room + start);
    MPI_Win_fence(0, window);
    MPI_Put(&mark, 1, MPI_CHAR, next_rank(), 1, 1, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 128; ++i) CHECK_EQUAL(room[i], i == start + 1 ? 100 + last_rank() : 0);
    MPI_Win_free(&window);
  }
}

static void lock_mixture(int number) {
  (void)number;
  allocate(8, 8);
  for (long turn = 1; turn <= 60; ++turn) {
    const int writer = (int)(turn % ranks);
    long seen = -1;
    if (me == writer) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Put(&turn, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
      MPI_Win_unlock(0, window);
    }
    MPI_Win_lock_all(0, window);
    MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    MPI_Win_unlock_all(window);
    CHECK(seen == turn || (me != writer && seen == turn - 1));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&window);
}

static void polled_counter(int number) {
  const int one = 1;
  int seen = 0;
  (void)number;
  allocate(4, 4);
  MPI_Win_lock_all(0, window);
  if (me != 0) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  if (me != 0) MPI_Win_flush(0, window);
  while (me == 0 && seen < ranks - 1) {
    MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, 0, MPI_NO_OP, window);
    MPI_Win_flush_local(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void swapped_counter(int number) {
  enum { kSteps = 100 };
  long* const counter = allocate(8, 8);
  (void)number;
  MPI_Win_lock_all(0, window);
  for (int step = 0; step < kSteps; ++step) {
    for (long wanted, seen = 0, found = -1; found != seen;) {
      seen = found < 0 ? 0 : found;
      wanted = seen + 1;
      MPI_Compare_and_swap(&wanted, &seen, &found, MPI_INT64_T, 0, 0, window);
      MPI_Win_flush(0, window);
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) CHECK_EQUAL(*counter, (long)kSteps * ranks);
  MPI_Win_free(&window);
}

static void vector_requests(int number) {
  enum { kRows = 10 };
  double* const memory = allocate(3 * kRows * 8, 8);
  double got[3 * kRows];
  MPI_Datatype rows;
  MPI_Request request;
  (void)number;
  for (int i = 0; i < 3 * kRows; ++i) memory[i] = 100 * me + i;
  for (int i = 0; i < 3 * kRows; ++i) got[i] = -1;
  MPI_Type_vector(kRows, 2, 3, MPI_DOUBLE, &rows);
  MPI_Type_commit(&rows);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Rget(got, 1, rows, next_rank(), 0, 1, rows, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 3 * kRows - 1; ++i) CHECK(got[i] == (i % 3 == 2 ? -1 : 100 * next_rank() + i));
  MPI_Rget(got, 2 * kRows, MPI_DOUBLE, next_rank(), 0, 1, rows, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2 * kRows; ++i) CHECK(got[i] == 100 * next_rank() + i / 2 * 3 + i % 2);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Type_free(&rows);
}

static void many_requests(int number) {
  enum { kPlaces = 32 };
  int* const memory = allocate(kPlaces * 4, 4);
  int* const values = malloc((size_t)number * sizeof *values);
  MPI_Request* const requests = malloc((size_t)number * sizeof *requests);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < number; ++i) {
    values[i] = i;
    MPI_Rput(&values[i], 1, MPI_INT, next_rank(), i % kPlaces, 1, MPI_INT, window, &requests[i]);
  }
  MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < number; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int place = 0; place < kPlaces; ++place)
    CHECK_EQUAL(memory[place], number - kPlaces + (place - number % kPlaces + kPlaces) % kPlaces);
  MPI_Win_free(&window);
  free(values);
  free(requests);
}

static void fetched_gaps(int number) {
  int* const memory = allocate(8, 4);
  int got[3] = {-7, -7, -7};
  MPI_Datatype gaps;
  (void)number;
  memory[0] = 10 * me;
  memory[1] = 10 * me + 1;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, got, 1, gaps, next_rank(), 0, 2, MPI_INT, MPI_NO_OP, window);
  MPI_Win_unlock_all(window);
  CHECK_EQUAL(got[0], 10 * next_rank());
  CHECK_EQUAL(got[1], -7);
  CHECK_EQUAL(got[2], 10 * next_rank() + 1);
  MPI_Win_free(&window);
  MPI_Type_free(&gaps);
}

static void indexed_sums(int number) {
  enum { kNumbers = 90 };
  double* const memory = allocate(kNumbers * 8, 8);
  double source[kNumbers];
  int lengths[kNumbers], places[kNumbers];
  MPI_Aint addresses[kNumbers];
  MPI_Datatype here, there;
  (void)number;
  for (int i = 0; i < kNumbers; ++i) {
    places[i] = (i * 7 + 3) % kNumbers; /* all of them, in no order */
    source[places[i]] = places[i];
    lengths[i] = 1;
    MPI_Get_address(&source[places[i]], &addresses[i]);
  }
  MPI_Type_create_hindexed(kNumbers, lengths, addresses, MPI_DOUBLE, &here);
  MPI_Type_create_indexed_block(kNumbers, 1, places, MPI_DOUBLE, &there);
  MPI_Type_commit(&here);
  MPI_Type_commit(&there);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < 10; ++round) MPI_Accumulate(MPI_BOTTOM, 1, here, 0, 0, 1, there, MPI_SUM, window);
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; me == 0 && i < kNumbers; ++i) CHECK(memory[i] == 10.0 * ranks * i);
  MPI_Win_free(&window);
}

/* Rank 1 calls nothing until rank 0 has done its calls, or five seconds have passed. */
static void computing_target(int number) {
  const long one = 1;
  long old = -1, got = -1;
  volatile long* const memory = allocate(16, 8);
  (void)number;
  if (me == 1) {
    const double end = MPI_Wtime() + 5;
    while (memory[1] == 0 && MPI_Wtime() < end) continue;
    CHECK(memory[1] == 1);
  } else if (me == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, window);
    MPI_Win_unlock(1, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    MPI_Get(&got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1, window);
    CHECK(old == 0 && got == 1);
    MPI_Put(&one, 1, MPI_LONG, 1, 1, 1, MPI_LONG, window);
    MPI_Win_unlock(1, window);
  }
  MPI_Win_free(&window);
}

static void many_windows(int number) {
  MPI_Win* const windows = malloc((size_t)number * sizeof *windows);
  int** const bases = malloc((size_t)number * sizeof *bases);
  int made = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (made < number &&
         MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[made], &windows[made]) == MPI_SUCCESS) {
    *bases[made++] = me;
  }
  CHECK(made == number || made >= 1500);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < made; i += 50) {
    int got = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, windows[i]);
    MPI_Get(&got, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, windows[i]);
    MPI_Win_unlock(next_rank(), windows[i]);
    CHECK_EQUAL(got, next_rank());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < made; ++i) MPI_Win_free(&windows[i]);
  free(windows);
  free(bases);
}

static void repeated_windows(int number) {
  for (int i = 0; i < number; ++i) {
    int* const memory = allocate(4, 4);
    MPI_Win_fence(0, window);
    MPI_Put(&i, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK_EQUAL(*memory, i);
    MPI_Win_free(&window);
  }
}

static const struct {
  const char* name;
  void (*run)(int);
} reports[] = {{"odd_bases", odd_bases},
               {"lock_mixture", lock_mixture},
               {"polled_counter", polled_counter},
               {"swapped_counter", swapped_counter},
               {"vector_requests", vector_requests},
               {"many_requests", many_requests},
               {"fetched_gaps", fetched_gaps},
               {"indexed_sums", indexed_sums},
               {"computing_target", computing_target},
               {"many_windows", many_windows},
               {"repeated_windows", repeated_windows}};

int main(int argc, char** argv) {
  int found = 0;
  begin(&argc, &argv, MPI_THREAD_SINGLE);
  for (size_t i = 0; i < sizeof reports / sizeof reports[0]; ++i) {
    if (argc < 2 || strcmp(argv[1], reports[i].name) != 0) continue;
    reports[i].run(argc > 2 ? atoi(argv[2]) : 300);
    found = 1;
  }
  CHECK(found);
  return finish();
}
