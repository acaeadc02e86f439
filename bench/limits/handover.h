/* What handing something over costs at least between processes of a node. Nothing of Grapnel.
   SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LIMITS_HANDOVER_H
#define BENCH_LIMITS_HANDOVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All `ranks` processes call it with the same page, zero at first: a word goes around them `rounds` times, each spins
   until it is its turn. It is zero again in the end. */
void limit_bounce(void* page, unsigned rank, unsigned ranks, uint64_t rounds);

/* The same, each sleeping in a futex of its own until the one before wakes it. */
void limit_wake_around(void* page, unsigned rank, unsigned ranks, uint64_t rounds);

#ifdef __cplusplus
}
#endif

#endif
