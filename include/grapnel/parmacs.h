/* What the macros of share/grapnel/parmacs.m4 call: the parallel macros of Argonne National Laboratory ("Portable
 * Programs for Parallel Processors", Boyle et al., 1987), which the programs of SPLASH use, on Grapnel's shared heap.
 * Programs use the macros and not these functions. How to port one: docs/tmk.md, "Programs with PARMACS".
 *
 * A lock, a barrier, a pause, a condition and a loop are each an id, the number of a lock of the heap. They may be
 * copied, and lie in shared or in private memory.
 *
 * Link with -ltmk (pkg-config grapnel-tmk).
 * Errors: as those of Tmk.h, a call that cannot do what it is for ends the job with a message.
 * Threads: one thread of a process calls; others may load and store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPNEL_PARMACS_H
#define GRAPNEL_PARMACS_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "Tmk.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif

/* MAIN_INITENV. Collective: Tmk_startup. It returns in process 0 alone; the others run what `parmacs_create` gives
 * them, and end when process 0 ends. */
void parmacs_start(void);
/* CREATE. In process 0: so many other processes run the function, on a copy of the program's writable data as it is
 * now. Errors: fewer processes are idle; the program lies at different addresses in them (link it with -no-pie). Cost:
 * the data once into the heap, and out of it in each process. */
void parmacs_create(void (*function)(void), int processes);
/* WAIT_FOR_END. In process 0: returns when all that were created have returned; it sees what they wrote. */
void parmacs_wait_for_end(void);

/* G_MALLOC, NU_MALLOC: as Tmk_malloc; where there is no room the job ends with a message (GRAPNEL_DSM_HEAP_BYTES). */
void* parmacs_malloc(size_t bytes);

/* LOCKINIT and the others: so many new ids, from the one returned on. Errors: no more are left (GRAPNEL_DSM_LOCKS). */
int parmacs_new(int ids);

/* BARRIER: waits until so many processes are in it, and sees what they wrote. Cost: where these are all processes,
 * Tmk_barrier; else a lock and a condition. */
void parmacs_barrier(int barrier, int processes);

/* SETPAUSE, CLEARPAUSE, WAITPAUSE: a flag; a wait returns once it is set, and sees what was written before. */
void parmacs_set_pause(int pause);
void parmacs_clear_pause(int pause);
void parmacs_wait_pause(int pause);

/* CONDVARWAIT, CONDVARSIGNAL, CONDVARBCAST: as SharedHeap::wait, signal and broadcast. The caller holds the lock. */
void parmacs_wait(int condition, int lock);
void parmacs_signal(int condition);
void parmacs_broadcast(int condition);

/* GETSUB: the next number of a loop from 0 to `last`; then -1, once all processes of the loop have got it. */
long parmacs_next(int loop, long last, int processes);

/* CLOCK: microseconds of this machine's clock. */
unsigned long parmacs_clock(void);

#ifdef __cplusplus
}
#endif

#endif
