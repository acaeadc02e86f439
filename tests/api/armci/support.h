/* SPDX-License-Identifier: Apache-2.0 */
/* What the ARMCI test programs share: a check that names rank and place, start and end, and a picture of the job. */
#ifndef GRAPNEL_TESTS_ARMCI_SUPPORT_H
#define GRAPNEL_TESTS_ARMCI_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci.h"
#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where it fails the job ends everywhere, with exit code 3. */
#define CHECK(condition) check_((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(found, wanted) check_equal_((long)(found), (long)(wanted), #found, __FILE__, __LINE__)
#define CHECK_NEAR(found, wanted) \
  check_((found) - (wanted) < 1e-6 && (wanted) - (found) < 1e-6, #found, __FILE__, __LINE__)

void check_(int holds, const char* what, const char* file, int line);
void check_equal_(long found, long wanted, const char* what, const char* file, int line);

extern int me, ranks;

/* MPI_Init, ARMCI_Init, `me` and `ranks`. */
void start(int* argc, char*** argv);
/* ARMCI_Finalize, MPI_Finalize; rank 0 prints "passed: N ranks, K nodes", by which a run is judged. */
void finish(void);

/* ARMCI_Malloc of `bytes` in every rank; `base` has an entry per rank. */
void** allocate(long bytes);
void release(void** base);

/* How many entries a folder has; of /proc/self/fd and /proc/self/task: descriptors and threads. */
int entries_of(const char* folder);
/* How many descriptors may still be opened for connections: UCX makes one when it is first needed, and another where
 * both sides began; two to every other node at most. */
int connections_to_come(void);
/* How many lines of a file hold a text; of /proc/self/maps: mappings. */
int lines_with(const char* path, const char* text);
/* The sum of the lines "name  N kB" of a file of /proc. */
long memory_kib(const char* path, const char* name);

/* The rank after and before the caller's, around the ring. */
int next_rank(void);
int previous_rank(void);

#ifdef __cplusplus
}
#endif

#endif
