/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one interface: PROGRAM same_node|two_hosts MILLISECONDS
 *
 * Rank 0 does each operation for about that long while rank 1 waits in a barrier (idle), between hosts also while it
 * computes and calls nothing (busy). A line for each: "peer-row NAME VALUE", in ns, bandwidths in GB/s; or "peer-wrong
 * NAME" when the memory does not hold afterwards what it must: a wrong answer is no measurement. The value is the
 * median of batches, each long enough for the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

enum {
  kWord = 0,       /* put and get */
  kGot = 32,       /* where rank 0 has what it got */
  kCounter = 64,   /* fetch-and-add */
  kSums = 4096,    /* accumulate */
  kRows = 1 << 16, /* strided */
  kBulk = 1 << 18, /* bandwidth */
  kBulkBytes = 8 << 20,
  kMostSamples = 4096,
  kHangs_s = 100,
};
static const size_t kAllBytes = (size_t)kBulk + kBulkBytes;
static const struct peer_rows kShape = {512, 1024, 64};
static const struct peer_rows kSmallShape = {8, 1024, 4}; /* what the call itself costs */
static const double kBatch_ns = 20e3;

static char *local, *remote;             /* remote: rank 1's own view */
static int64_t additions, accumulations; /* that rank 0 did */

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- the operations ---- */

static void put_8(void) { peer_put(local + kWord, kWord, 8); }
static void put_fence_8(void) {
  peer_put(local + kWord, kWord, 8);
  peer_fence();
}
static void get_8(void) { peer_get(local + kGot, kWord, 8); }
static void strided_small(void) { peer_put_rows(local + kRows, kRows, &kSmallShape); }
static void strided(void) {
  peer_put_rows(local + kRows, kRows, &kShape);
  peer_fence();
}
static void accumulate(void) {
  peer_accumulate(local + kSums, kSums, 4096);
  peer_fence();
  ++accumulations;
}
static void fetch_and_add(void) {
  peer_fetch_and_add(kCounter, 1);
  ++additions;
}
static void lock_unlock(void) {
  peer_lock();
  peer_unlock();
}
/* As much as a program would have under way: then everything is complete. */
static void put_8k(void) {
  for (int i = 0; i < 16; ++i) peer_put(local + kBulk + i * 8192, kBulk + (size_t)i * 8192, 8192);
  peer_fence();
}
static void put_1m(void) {
  for (int i = 0; i < 2; ++i) peer_put(local + kBulk + ((size_t)i << 20), kBulk + ((size_t)i << 20), 1 << 20);
  peer_fence();
}
static void put_8m(void) {
  peer_put(local + kBulk, kBulk, kBulkBytes);
  peer_fence();
}
static void get_1m(void) { peer_get(local + kBulk, kBulk, 1 << 20); }

/* ---- whether they did what they should: looked at by rank 1, or, what rank 0 got, by rank 0; after a barrier ---- */

static int pattern(size_t place) { return (int)((place * 131 + place / 4096) % 251); }

static int filled(size_t from, size_t bytes) {
  for (size_t i = from; i < from + bytes; ++i) {
    if ((unsigned char)remote[i] != pattern(i)) return 0;
  }
  return 1;
}
static int word_is_right(void) { return filled(kWord, 8); }
static int got_is_right(void) { return memcmp(local + kGot, local + kWord, 8) == 0; }
static int rows_of_are_right(const struct peer_rows* shape) {
  for (int row = 0; row < shape->rows; ++row) {
    const size_t from = kRows + (size_t)row * shape->stride;
    if (!filled(from, shape->row_bytes) || remote[from + shape->row_bytes] != 0) return 0;
  }
  return 1;
}
static int small_rows_are_right(void) { return rows_of_are_right(&kSmallShape); }
static int rows_are_right(void) { return rows_of_are_right(&kShape); }
static int bulk_is_right(void) { return filled(kBulk, 8192); }

struct operation {
  const char* name;
  void (*run)(void);
  size_t bytes;                                        /* not 0: a bandwidth */
  enum { everywhere, same_node_only, and_busy } where; /* and_busy: between hosts with a busy target too */
  int (*right)(void);                                  /* null: is looked at in another way, or cannot be */
};

static const struct operation kOperations[] = {
    {"put/8B/latency", put_8, 0, same_node_only, word_is_right},
    {"put_fence/8B/latency", put_fence_8, 0, and_busy, word_is_right},
    {"get/8B/latency", get_8, 0, and_busy, got_is_right},
    {"put/strided_4x8B/latency", strided_small, 0, same_node_only, small_rows_are_right}, /* before the larger one */
    {"put/strided_64x512B/latency", strided, 0, and_busy, rows_are_right},
    {"accumulate/4KiB/latency", accumulate, 0, and_busy, NULL},
    {"fetch_and_add/latency", fetch_and_add, 0, and_busy, NULL},
    {"put/8KiB/bandwidth", put_8k, 16 * 8192, everywhere, bulk_is_right},
    {"put/1MiB/bandwidth", put_1m, 2 << 20, everywhere, bulk_is_right},
    {"put/8MiB/bandwidth", put_8m, kBulkBytes, everywhere, bulk_is_right},
    {"get/1MiB/bandwidth", get_1m, 1 << 20, everywhere, NULL},
    {"lock_unlock/latency", lock_unlock, 0, everywhere, NULL},
};
enum { kOperationCount = sizeof kOperations / sizeof kOperations[0] };

/* ---- measuring ---- */

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double batch_ns(const struct operation* operation, long count) {
  const double begin_ns = now_ns();
  for (long i = 0; i < count; ++i) operation->run();
  const double passed_ns = now_ns() - begin_ns;
  peer_fence();
  return passed_ns;
}

/* Median time of one operation; at least one is done, however long it takes. */
static double measure_ns(const struct operation* operation, double budget_ns) {
  static double samples[kMostSamples];
  const double end_ns = now_ns() + budget_ns;
  long count = 1;
  double passed_ns = batch_ns(operation, 1);
  double first_ns = passed_ns;
  while (now_ns() < end_ns && (passed_ns = batch_ns(operation, count)) < kBatch_ns) count *= 2;
  int taken = 0;
  while (now_ns() < end_ns && taken < kMostSamples) samples[taken++] = batch_ns(operation, count) / (double)count;
  if (taken == 0) return first_ns;
  qsort(samples, (size_t)taken, sizeof samples[0], by_value);
  return samples[taken / 2];
}

static void print_row(const char* before, const struct operation* operation, double time_ns) {
  const double value = operation->bytes == 0 ? time_ns : (double)operation->bytes / time_ns;
  printf("peer-row %s%s %.6g\n", before, operation->name, value);
  fflush(stdout);
}

static volatile double sink;

static void compute(double duration_ns) {
  const double end_ns = now_ns() + duration_ns;
  double x = 1;
  while (now_ns() < end_ns) {
    for (int i = 0; i < 1000; ++i) x = x * 0.999999 + 1e-6;
  }
  sink = x;
}

/* Rank 1 computes for five times as long as rank 0 measures. An operation that waits for rank 1 takes all of that. */
static void measure_busy(int rank, const struct operation* operation, double budget_ns) {
  if (operation->where != and_busy) return;
  peer_barrier();
  if (rank == 1) {
    compute(5 * budget_ns);
  } else {
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL); /* by now it computes */
    print_row("busy_target/", operation, measure_ns(operation, budget_ns));
  }
  peer_barrier();
}

static void measure_idle(int rank, const struct operation* operation, double budget_ns) {
  peer_barrier();
  if (rank == 0) print_row("", operation, measure_ns(operation, budget_ns));
  peer_barrier();
}

static void say_if_wrong(int rank, const struct operation* operation) {
  const int judge = operation->right == got_is_right ? 0 : 1;
  if (rank == judge && operation->right != NULL && !operation->right()) {
    printf("peer-wrong %s\n", operation->name);
    fflush(stdout);
  }
}

/* What rank 0 counted travels as an operation that is known to work by then. */
static void check_counts(int rank) {
  int64_t* const told = (int64_t*)(local + kWord);
  if (rank == 0) {
    told[0] = additions;
    told[1] = accumulations;
    peer_put(told, kWord, 2 * sizeof told[0]);
    peer_fence();
  }
  peer_barrier();
  if (rank == 0) return;
  int64_t wanted[2];
  memcpy(wanted, remote + kWord, sizeof wanted);
  int64_t counter;
  double sum;
  memcpy(&counter, remote + kCounter, sizeof counter);
  memcpy(&sum, remote + kSums + 4088, sizeof sum);
  if (counter != wanted[0]) printf("peer-wrong fetch_and_add/latency\n");
  if (sum != (double)wanted[1]) printf("peer-wrong accumulate/4KiB/latency\n");
  fflush(stdout);
}

static void fill_local(void) {
  for (size_t i = 0; i < kAllBytes; ++i) local[i] = (char)pattern(i);
  for (int i = 0; i < 512; ++i) ((double*)(local + kSums))[i] = 1;
  memset(local + kGot, 0, 8);
}

int main(int argc, char** argv) {
  alarm(kHangs_s); /* a peer that hangs ends by itself */
  const int rank = peer_start(&argc, &argv);
  if (argc != 3 || (strcmp(argv[1], "same_node") != 0 && strcmp(argv[1], "two_hosts") != 0) || atof(argv[2]) <= 0) {
    fprintf(stderr, "usage: %s same_node|two_hosts MILLISECONDS, two ranks\n", argv[0]);
    exit(2);
  }
  const int hosts = strcmp(argv[1], "two_hosts") == 0;
  const double budget_ns = atof(argv[2]) * 1e6;
  remote = peer_allocate(kAllBytes);
  /* One cache line past a page, for all alike: glibc's memcpy is many times slower where (destination - source) mod
   * 4096 is 1 to 15, and windows begin a few bytes past a page. A peer that is slow by such an accident is no limit. */
  char* const pages = aligned_alloc(4096, kAllBytes + 4096);
  if (pages == NULL) exit(1);
  local = pages + 64;
  fill_local();
  for (int i = 0; i < kOperationCount; ++i) {
    const struct operation* const operation = &kOperations[i];
    if (hosts && operation->where == same_node_only) continue;
    measure_idle(rank, operation, budget_ns);
    if (hosts) measure_busy(rank, operation, budget_ns);
    say_if_wrong(rank, operation);
  }
  check_counts(rank);
  peer_barrier();
  peer_finish();
  return 0;
}
