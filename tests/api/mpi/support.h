/* What the programs share: they count mistakes, and print "passed: N ranks, all" where no rank found one.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int me, ranks, mistakes;

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      ++mistakes;                                                                                \
      fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, me, #condition); \
    }                                                                                            \
  } while (0)

#define CHECK_EQUAL(a, b)                                                                                      \
  do {                                                                                                         \
    const long long check_a = (long long)(a), check_b = (long long)(b);                                        \
    if (check_a != check_b) {                                                                                  \
      ++mistakes;                                                                                              \
      fprintf(stderr, "%s:%d: rank %d: %s is %lld, not %lld\n", __FILE__, __LINE__, me, #a, check_a, check_b); \
    }                                                                                                          \
  } while (0)

/* MPI's start and end, at a thread level. */
void begin(int* argc, char*** argv, int level);
int finish(void);

/* The class of a code. */
int class_of(int code);
