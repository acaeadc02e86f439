/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, and the measurements that are none of the paper's. See windows.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "windows.h"

enum { kMostSamples = 4096, kLearn = 20, kRoundTrips = 100 };
static const double kBatch_ns = 20e3;

int g_rank, g_size;

double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void sleep_until_ns(double time_ns) {
  for (double left = time_ns - now_ns(); left > 0; left = time_ns - now_ns()) {
    const struct timespec rest = {(time_t)(left / 1e9), (long)(left - (double)(time_t)(left / 1e9) * 1e9)};
    nanosleep(&rest, NULL);
  }
}

void compute_until_ns(double time_ns) {
  volatile double x = 1;
  while (now_ns() < time_ns) {
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001 + 1e-9;
  }
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

void fail(const char* what) {
  fprintf(stderr, "windows: cannot do %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

void print_row(const char* name, double value) {
  printf("window-row %s %.10g\n", name, value);
  fflush(stdout); /* the next row may crash the host MPI */
}

static void print_wrong(const char* name) {
  printf("window-wrong %s\n", name);
  fflush(stdout);
}

/* After a barrier: rank 1 compares its memory with what rank 0 put and added. */
static void look(const struct window* window, const struct call* call, int64_t additions) {
  int64_t expected[2] = {last_put(), additions};
  MPI_Bcast(expected, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (g_rank == kTarget) {
    MPI_Win_lock(MPI_LOCK_SHARED, g_rank, 0, window->handle);
    if (*word_of(window) != expected[0] || *counter_of(window) != expected[1]) print_wrong(call->name);
    MPI_Win_unlock(g_rank, window->handle);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Calls that were complete within `span_ns`, while the target computes for longer than that. */
static double calls_within(const struct window* window, const struct call* call, double span_ns, int64_t* additions) {
  const double end_ns = now_ns() + span_ns;
  double done = 0;
  do {
    call->run(window, kTarget);
    *additions += call->adds_one;
    ++done;
  } while (now_ns() < end_ns);
  return done - 1; /* the last one was complete later */
}

static void busy_target(const char* kind, char* stack, double span_ns, int count, char** names) {
  struct window window = make_window(kind, stack, kTarget);
  int64_t additions = 0;
  for (int i = 0; i < count; ++i) {
    const struct call* const call = call_of_name(names[i]);
    if (g_rank == 0 && call->needs_lock_all) MPI_Win_lock_all(0, window.handle);
    if (g_rank == 0) call->run(&window, kTarget); /* the first use makes connections */
    additions += g_rank == 0 ? call->adds_one : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == kTarget) compute_until_ns(now_ns() + span_ns * 1.1);
    if (g_rank == 0) print_row(call->name, calls_within(&window, call, span_ns, &additions));
    if (g_rank == 0 && call->needs_lock_all) MPI_Win_unlock_all(window.handle);
    MPI_Barrier(MPI_COMM_WORLD);
    look(&window, call, additions);
  }
  free_window(&window, kind);
}

/* The median of batches, each long enough for the clock. */
static double time_of(const struct window* window, const struct call* call, double span_ns, int64_t* additions) {
  static double samples[kMostSamples];
  double begin_ns = now_ns();
  for (int i = 0; i < kLearn; ++i) call->run(window, kTarget);
  const double about_ns = (now_ns() - begin_ns) / kLearn;
  const int batch = about_ns >= kBatch_ns ? 1 : (int)(kBatch_ns / about_ns) + 1;
  const double end_ns = now_ns() + span_ns;
  int count = 0;
  do {
    begin_ns = now_ns();
    for (int i = 0; i < batch; ++i) call->run(window, kTarget);
    samples[count++] = (now_ns() - begin_ns) / batch;
  } while (now_ns() < end_ns && count < kMostSamples);
  *additions += call->adds_one * (kLearn + (int64_t)batch * count);
  return median_of(samples, count);
}

static void idle_target(const char* kind, char* stack, double span_ns, int count, char** names) {
  struct window window = make_window(kind, stack, kTarget);
  int64_t additions = 0;
  for (int i = 0; i < count; ++i) {
    const struct call* const call = call_of_name(names[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (g_rank == 0) {
      if (call->needs_lock_all) MPI_Win_lock_all(0, window.handle);
      print_row(call->name, time_of(&window, call, span_ns, &additions));
      if (call->needs_lock_all) MPI_Win_unlock_all(window.handle);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    look(&window, call, additions);
  }
  free_window(&window, kind);
}

/* The last rank calls, to rank 0; its neighbour holds lock_all all the time where the call takes it, too. Two jobs that
 * differ in `count` differ in the messages of so many calls. */
static void messages(const char* name, int count) {
  const struct call* const call = call_of_name(name);
  const int is_second = strncmp(name, "lock_all", 8) == 0;
  struct window window = make_window("allocate", NULL, 0);
  if (is_second && g_rank == g_size - 2) {
    MPI_Win_lock_all(0, window.handle);
    call_of_name("put_flush")->run(&window, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == g_size - 1) {
    if (call->needs_lock_all) MPI_Win_lock_all(0, window.handle);
    for (int i = 0; i < kLearn + count; ++i) call->run(&window, 0);
    if (call->needs_lock_all) MPI_Win_unlock_all(window.handle);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_second && g_rank == g_size - 2) MPI_Win_unlock_all(window.handle);
  free_window(&window, "allocate");
}

/* Of several processors, another one than the other rank's: two ranks that share one take turns by time slices. */
static void take_own_processor(const cpu_set_t* allowed) {
  cpu_set_t mine;
  if (CPU_COUNT(allowed) < 2) return;
  int left = g_rank, processor = 0;
  while (!CPU_ISSET(processor, allowed) || left-- > 0) ++processor;
  CPU_ZERO(&mine);
  CPU_SET(processor, &mine);
  sched_setaffinity(0, sizeof mine, &mine);
}

/* Ranks 0 and 1 send a word of 8 bytes to each other: the time of one way, as the median of batches. */
static void send_and_receive(double span_ns) {
  static double samples[kMostSamples];
  int64_t word = 0;
  const double end_ns = now_ns() + span_ns;
  int count = 0, goes_on = 1;
  cpu_set_t allowed;
  if (g_rank > 1 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  take_own_processor(&allowed);
  while (goes_on) {
    const double begin_ns = now_ns();
    for (int i = 0; i < kRoundTrips; ++i) {
      if (g_rank == 0) MPI_Send(&word, 1, MPI_INT64_T, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&word, 1, MPI_INT64_T, 1 - g_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (g_rank == 1) MPI_Send(&word, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD);
    }
    samples[count++] = (now_ns() - begin_ns) / (2 * kRoundTrips);
    goes_on = now_ns() < end_ns && count < kMostSamples;
    if (g_rank == 0) MPI_Send(&goes_on, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (g_rank == 1) MPI_Recv(&goes_on, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  if (g_rank == 0) print_row("send_recv", median_of(samples, count));
}

int main(int argc, char** argv) {
  char stack[kWindowBytes] __attribute__((aligned(4096)));
  alarm(kHangs_s); /* not every launcher has a limit */
  const double begin_ns = now_ns();
  MPI_Init(&argc, &argv);
  const double begun_ns = now_ns();
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  if (g_size < 2 || argc < 3) fail("anything with fewer than two ranks or words");
  const int is_plain = strcmp(argv[1], "plain_program") == 0;
  if (strcmp(argv[1], "busy_target") == 0 && argc > 4) {
    busy_target(argv[2], stack, atof(argv[3]) * 1e6, argc - 4, argv + 4);
  } else if (strcmp(argv[1], "idle_target") == 0 && argc > 4) {
    idle_target(argv[2], stack, atof(argv[3]) * 1e6, argc - 4, argv + 4);
  } else if (strcmp(argv[1], "messages") == 0 && argc == 4) {
    messages(argv[2], atoi(argv[3]));
  } else if (is_plain) {
    send_and_receive(atof(argv[2]) * 1e6);
  } else if (!run_figure(argv[1], argc - 2, argv + 2)) {
    fail(argv[1]);
  }
  const double ending_ns = now_ns();
  MPI_Finalize();
  if (is_plain && g_rank == 0) print_row("start", begun_ns - begin_ns + now_ns() - ending_ns);
  return 0;
}
