/* What the test programs of Tmk.h have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPNEL_TESTS_TMK_SUPPORT_H
#define GRAPNEL_TESTS_TMK_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Tmk.h"

/* Ends the process at once, and so the job, where the condition does not hold. */
#define CHECK(condition)                                                                               \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      fprintf(stderr, "%s:%d: process %u: not so: %s\n", __FILE__, __LINE__, Tmk_proc_id, #condition); \
      fflush(NULL);                                                                                    \
      _Exit(99);                                                                                       \
    }                                                                                                  \
  } while (0)

#endif
