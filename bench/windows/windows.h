/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of `./dev bench windows`, for MPI's interface alone: what a job prints is for windows.py to judge.
 * Nothing of Grapnel is included here; the same program runs on the host MPI's windows and, with
 * libgrapnel-mpi preloaded, on Grapnel's.
 *
 *   PROGRAM busy_target WINDOW MILLISECONDS CALL...    calls that rank 0 completes while rank 1 computes
 *   PROGRAM idle_target WINDOW MILLISECONDS CALL...    what a call takes while rank 1 waits in MPI_Barrier
 *   PROGRAM messages CALL COUNT    nothing but that many calls of one rank, after some to learn
 *   PROGRAM plain_program MILLISECONDS    no window: MPI_Init with MPI_Finalize, and messages of 8 bytes
 *   PROGRAM overhead|delay|concurrency|contended|computing|pairs NUMBERS...   the figures of the paper
 *
 * A line for each result: "window-row NAME VALUE", times in ns; "window-wrong NAME" where memory is not what it must
 * be. */
#ifndef GRAPNEL_BENCH_WINDOWS_H
#define GRAPNEL_BENCH_WINDOWS_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kTarget = 1, kWindowBytes = 8192, kHangs_s = 100 };

extern int g_rank, g_size;

/* One window, and where its memory begins for MPI: 0, or the target's address in a dynamic one. */
struct window {
  MPI_Win handle;
  MPI_Aint begin;
  char* mine;
};

/* A call with what completes it, by one rank on the window's memory at `target`. `needs_lock_all`: within
 * MPI_Win_lock_all. */
struct call {
  const char* name;
  void (*run)(const struct window* window, int target);
  int needs_lock_all;
  int adds_one; /* to the counter */
};

const struct call* call_of_name(const char* name);

/* Collective. `kind`: allocate, create (`stack` is the memory), alloc_mem, dynamic. `target`: of dynamic ones. */
struct window make_window(const char* kind, char* stack, int target);
void free_window(struct window* window, const char* kind);
/* The value of this rank's last put; the words of this rank's memory that puts and additions change. */
int64_t last_put(void);
int64_t* counter_of(const struct window* window);
int64_t* word_of(const struct window* window);

double now_ns(void);
void sleep_until_ns(double time_ns);
void compute_until_ns(double time_ns);
/* The k-th smallest of `count` values, k = count / 2; sorts them. */
double median_of(double* values, int count);
void fail(const char* what);
void print_row(const char* name, double value);

/* The paper's figures; 0 when `name` is none of them. */
int run_figure(const char* name, int count, char** numbers);

#endif
