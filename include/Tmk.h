/* TreadMarks' interface (C. Amza et al., "TreadMarks: Shared Memory Computing on Networks of Workstations", IEEE
 * Computer, February 1996) on Grapnel's shared heap.
 *
 *   Tmk_startup(argc, argv);
 *   if (Tmk_proc_id == 0) {
 *     shared = Tmk_malloc(bytes);
 *     Tmk_distribute(&shared, sizeof shared);
 *   }
 *   Tmk_barrier(0);
 *   ...
 *   Tmk_exit(0);
 *
 * Started by `grapnel run`, mpirun or srun; link with -ltmk (pkg-config grapnel-tmk).
 * How to port a program: docs/tmk.md.
 * Errors: a call that cannot do what it is for ends the job with a message.
 * Threads: one thread of a process calls; others may load and store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPNEL_TMK_H
#define GRAPNEL_TMK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most processes, locks and barriers. */
#define TMK_NPROCS 1024
#define TMK_NLOCKS 4096
#define TMK_NBARRIERS 4096

/* This process's number, from 0 on, and how many there are. Valid after Tmk_startup. */
extern unsigned Tmk_proc_id;
extern unsigned Tmk_nprocs;

/* Collective, before any other call. Arguments are the program's: nothing is taken from them. */
void Tmk_startup(int argc, char** argv);
/* Collective with status 0: the process ends when all processes have called it. Another status ends the job with it.
 * `exit` and a return from main do the same. */
void Tmk_exit(int status) __attribute__((noreturn));

/* Shared memory, zero where it was never used; one process calls. Null where there is no room. */
void* Tmk_malloc(size_t bytes);
void Tmk_free(void* block);
/* One process calls: the bytes of a global or static object are copied to the same object of each other process, in its
 * next barrier or lock acquire that follows a barrier or lock release of the caller. */
void Tmk_distribute(const void* object, size_t bytes);

/* Collective: all that any process wrote before is seen by all. All give the same number, below TMK_NBARRIERS. */
void Tmk_barrier(unsigned number);
/* Numbers are below TMK_NLOCKS; a lock is not re-entrant. */
void Tmk_lock_acquire(unsigned number);
void Tmk_lock_release(unsigned number);

#ifdef __cplusplus
}
#endif

#endif
