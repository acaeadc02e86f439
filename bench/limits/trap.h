/* SPDX-License-Identifier: Apache-2.0 */
/* A fault that a process handles itself, bare: what an access to a page costs that is in memory and not mapped. Nothing
 * of Grapnel is included here.
 *
 * Threads: one at a time; between arm and disarm no other thread of the process may fault. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum limit_trap_kind {
  LIMIT_TRAP_UFFD,    /* userfaultfd: SIGBUS, and UFFDIO_CONTINUE with write protection (Linux 6.7) */
  LIMIT_TRAP_MPROTECT /* SIGSEGV, and mprotect */
};

struct limit_trap;

/* A range of `pages` pages of a file in memory. Null: the kernel or a container refuses, errno says why. */
struct limit_trap* limit_trap_open(enum limit_trap_kind kind, size_t pages);

/* The process's handler becomes the trap's, and no page is mapped. */
void limit_trap_arm(struct limit_trap* trap);
/* Reads a page. It faults once; the page is mapped for reading then. */
void limit_trap_touch(struct limit_trap* trap, size_t page);
/* The handler is what it was before. The pages that have faulted since arm. */
size_t limit_trap_disarm(struct limit_trap* trap);

void limit_trap_close(struct limit_trap* trap);

#ifdef __cplusplus
}
#endif
