/* SPDX-License-Identifier: Apache-2.0 */
/* Figures 1 to 6 of the paper mpi2-passive-one-sided-2004, section 6, by MPI_Win_lock and MPI_Win_unlock. Rank 0 is the
 * target, but in `pairs`. An unlock completes the epoch, so a lock with its unlock has been granted. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "windows.h"

enum { kMostSamples = 4096, kMostWindows = 16, kMostThreads = 16, kDelays = 20 };
static const double kSettle_ns = 20e6, kHeld_ns = 1e6;

static void lock(const struct window* window, int target) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window->handle);
}
static void unlock(const struct window* window, int target) { MPI_Win_unlock(target, window->handle); }

/* A time that all ranks have; the hosts of a lab have one clock. */
static double common_time_ns(void) {
  double begin_ns = now_ns() + kSettle_ns;
  MPI_Bcast(&begin_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return begin_ns;
}

struct times {
  double lock_ns, unlock_ns, both_ns;
};

/* The first use, which makes connections, is not among them. */
static struct times overhead_of(const struct window* window, int target, double begin_ns, double span_ns) {
  static double locks[kMostSamples], unlocks[kMostSamples], both[kMostSamples];
  int count = 0;
  lock(window, target);
  unlock(window, target);
  sleep_until_ns(begin_ns);
  const double end_ns = now_ns() + span_ns;
  do {
    const double start_ns = now_ns();
    lock(window, target);
    const double locked_ns = now_ns();
    unlock(window, target);
    const double unlocked_ns = now_ns();
    locks[count] = locked_ns - start_ns;
    unlocks[count] = unlocked_ns - locked_ns;
    both[count++] = unlocked_ns - start_ns;
  } while (now_ns() < end_ns && count < kMostSamples);
  return (struct times){median_of(locks, count), median_of(unlocks, count), median_of(both, count)};
}

/* Figure 1: MILLISECONDS. */
static void overhead(char** numbers) {
  struct window window = make_window("allocate", NULL, 0);
  if (g_rank == 1) {
    const struct times times = overhead_of(&window, 0, now_ns(), atof(numbers[0]) * 1e6);
    print_row("lock", times.lock_ns);
    print_row("unlock", times.unlock_ns);
    print_row("both", times.both_ns);
  }
  free_window(&window, "allocate");
}

/* Ranks 1 and 2 hand the lock over, in turn. An epoch is begun when its put is complete. */
static double hand_over(const struct window* window, int first) {
  const int is_first = g_rank == first, other = 3 - g_rank;
  double time_ns = 0;
  if (g_rank == 0) return 0;
  if (is_first) {
    lock(window, 0);
    call_of_name("put_flush")->run(window, 0);
    MPI_Send(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    compute_until_ns(now_ns() + kHeld_ns);
    time_ns = now_ns();
    unlock(window, 0);
    MPI_Send(&time_ns, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    return 0;
  }
  MPI_Recv(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  lock(window, 0);
  call_of_name("put_flush")->run(window, 0);
  const double acquired_ns = now_ns();
  unlock(window, 0);
  MPI_Recv(&time_ns, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return acquired_ns - time_ns;
}

/* Figure 2. */
static void delay(char** numbers) {
  double delays[2 * kDelays];
  int seen = 0;
  struct window window = make_window("allocate", NULL, 0);
  const int rounds = atoi(numbers[0]);
  for (int i = 0; i < rounds && i < kDelays; ++i) {
    const double one = hand_over(&window, 1), other = hand_over(&window, 2);
    if (g_rank != 0) delays[seen++] = one + other; /* one of them is 0 */
  }
  if (g_rank == 1) print_row("delay", median_of(delays, seen));
  free_window(&window, "allocate");
}

/* Figure 3: MILLISECONDS ORIGINS...: as many windows as origins, one for each. */
static void concurrency(int count, char** numbers) {
  struct window windows[kMostWindows];
  for (int i = 1; i < g_size; ++i) windows[i] = make_window("allocate", NULL, 0);
  for (int step = 1; step < count; ++step) {
    const int origins = atoi(numbers[step]);
    const double begin_ns = common_time_ns(), end_ns = begin_ns + atof(numbers[0]) * 1e6;
    double mine[2] = {0, 0}, all[2] = {0, 0};
    if (g_rank >= 1 && g_rank <= origins) {
      lock(&windows[g_rank], 0);
      unlock(&windows[g_rank], 0);
      sleep_until_ns(begin_ns);
      int done = 0;
      for (; done == 0 || now_ns() < end_ns; ++done) {
        lock(&windows[g_rank], 0);
        unlock(&windows[g_rank], 0);
      }
      mine[0] = (now_ns() - begin_ns) / done;
      mine[1] = 1;
    }
    MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    char name[64];
    snprintf(name, sizeof name, "%d_origins", origins);
    if (g_rank == 0) print_row(name, all[0] / all[1]);
  }
  for (int i = 1; i < g_size; ++i) free_window(&windows[i], "allocate");
}

/* Figure 4: ORIGINS COUNT: so many acquisitions of one lock by each. Counted from outside, as `messages`. */
static void contended(char** numbers) {
  struct window window = make_window("allocate", NULL, 0);
  const int origins = atoi(numbers[0]), count = atoi(numbers[1]);
  sleep_until_ns(common_time_ns());
  if (g_rank >= 1 && g_rank <= origins) {
    for (int i = 0; i < count; ++i) {
      lock(&window, 0);
      unlock(&window, 0);
    }
  }
  free_window(&window, "allocate");
}

static void* compute(void* end_ns) {
  compute_until_ns(*(const double*)end_ns);
  return NULL;
}

/* Figure 5: MILLISECONDS THREADS...: the target computes in so many threads, and calls nothing of MPI. */
static void computing(int count, char** numbers) {
  struct window window = make_window("allocate", NULL, 0);
  for (int step = 1; step < count; ++step) {
    const int threads = atoi(numbers[step]);
    if (threads > kMostThreads) fail("so many threads");
    if (g_rank == 1) {
      lock(&window, 0);
      unlock(&window, 0);
    }
    double span_ns = atof(numbers[0]) * 1e6, begin_ns = common_time_ns(), end_ns = begin_ns + span_ns;
    if (g_rank == 0) {
      pthread_t running[kMostThreads];
      for (int i = 0; i < threads; ++i) pthread_create(&running[i], NULL, compute, &end_ns);
      sleep_until_ns(end_ns);
      for (int i = 0; i < threads; ++i) pthread_join(running[i], NULL);
    } else {
      sleep_until_ns(begin_ns);
      int done = 0;
      for (; done == 0 || now_ns() < end_ns; ++done) {
        lock(&window, 0);
        unlock(&window, 0);
      }
      char name[64];
      snprintf(name, sizeof name, "%d_threads", threads);
      print_row(name, (now_ns() - begin_ns) / done);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free_window(&window, "allocate");
}

/* Figure 6: MILLISECONDS: the first half of the ranks are targets, the second origins, each with one of them. */
static void pairs(char** numbers) {
  struct window window = make_window("allocate", NULL, 0);
  const int half = g_size / 2;
  const double begin_ns = common_time_ns();
  double mine = 0, sum = 0;
  if (g_rank >= half) mine = overhead_of(&window, g_rank - half, begin_ns, atof(numbers[0]) * 1e6).both_ns;
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank == 0) print_row("both", sum / half);
  free_window(&window, "allocate");
}

int run_figure(const char* name, int count, char** numbers) {
  if (strcmp(name, "overhead") == 0) {
    overhead(numbers);
  } else if (strcmp(name, "delay") == 0 && g_size == 3) {
    delay(numbers);
  } else if (strcmp(name, "concurrency") == 0 && g_size <= kMostWindows) {
    concurrency(count, numbers);
  } else if (strcmp(name, "contended") == 0 && count == 2) {
    contended(numbers);
  } else if (strcmp(name, "computing") == 0 && g_size == 2) {
    computing(count, numbers);
  } else if (strcmp(name, "pairs") == 0) {
    pairs(numbers);
  } else {
    return 0;
  }
  return 1;
}
