/* SPDX-License-Identifier: Apache-2.0 */
/* One program per interface measures the same operations: ours, and those that others offer. peer_main.c holds the
 * measurement; each interface is a file that defines the functions below (link one of them).
 *
 * Two ranks. Rank 0 reaches into the memory of rank 1, `offset` bytes from its beginning; `local` is any memory
 * of rank 0. Any failure prints a line and ends the job. One thread. Nothing of Grapnel is
 * included here. */
#ifndef GRAPNEL_BENCH_PEER_H
#define GRAPNEL_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of `row_bytes` bytes, `stride` bytes apart on both sides. */
struct peer_rows {
  size_t row_bytes, stride;
  int rows;
};

/* Joins the job. Answers the rank; the job must have two. */
int peer_start(int* argc, char*** argv);
void peer_finish(void);
/* Collective: zeroed memory that the other rank reaches. Answers the caller's own. */
char* peer_allocate(size_t bytes);
/* Collective: everything is complete, everybody is there. It is also how an idle rank waits. */
void peer_barrier(void);

/* The source may be reused afterwards. */
void peer_put(const void* local, size_t offset, size_t bytes);
void peer_put_rows(const void* local, size_t offset, const struct peer_rows* shape);
/* Doubles: remote += local. */
void peer_accumulate(const void* local, size_t offset, size_t bytes);
/* All of these are complete at the target. */
void peer_fence(void);

void peer_get(void* local, size_t offset, size_t bytes);
/* The old value of a word of 64 bits. */
int64_t peer_fetch_and_add(size_t offset, int64_t increment);
/* A lock that lives at rank 1. */
void peer_lock(void);
void peer_unlock(void);

#ifdef __cplusplus
}
#endif
#endif
