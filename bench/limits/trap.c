/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "trap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* What Debian 12's headers (Linux 6.1) do not have yet. */
#define FEATURE_MINOR_SHMEM (1U << 10)
#define FEATURE_WP_HUGETLBFS_SHMEM (1U << 12)
#define FEATURE_WP_UNPOPULATED (1U << 13)
#define FEATURE_WP_ASYNC (1U << 15)
#define CONTINUE_WRITE_PROTECTED (1U << 1)
#define USER_MODE_ONLY 1

struct limit_trap {
  enum limit_trap_kind kind;
  char* pages;
  size_t bytes;
  int file;
  int faults; /* of userfaultfd; -1: mprotect */
  size_t faulted;
  struct sigaction earlier;
};

/* The one whose faults the handler takes. */
static struct limit_trap* armed;

static _Noreturn void fail(const char* doing) {
  fprintf(stderr, "trap limit: cannot %s: %s\n", doing, strerror(errno));
  _exit(1);
}

static void on_fault(int number, siginfo_t* info, void* machine) {
  (void)number, (void)machine;
  char* const page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
  if (page < armed->pages || page >= armed->pages + armed->bytes) _exit(1);
  ++armed->faulted;
  if (armed->faults < 0) {
    if (mprotect(page, PAGE, PROT_READ) != 0) fail("map a page (mprotect)");
    return;
  }
  struct uffdio_continue order = {.range = {(uintptr_t)page, PAGE}, .mode = CONTINUE_WRITE_PROTECTED};
  if (ioctl(armed->faults, UFFDIO_CONTINUE, &order) != 0) fail("map a page (UFFDIO_CONTINUE)");
}

static int signal_of(const struct limit_trap* trap) { return trap->kind == LIMIT_TRAP_UFFD ? SIGBUS : SIGSEGV; }

static int open_faults(struct limit_trap* trap) {
  trap->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | USER_MODE_ONLY);
  if (trap->faults < 0) return -1;
  struct uffdio_api api = {.api = UFFD_API,
                           .features = UFFD_FEATURE_SIGBUS | FEATURE_MINOR_SHMEM | FEATURE_WP_HUGETLBFS_SHMEM |
                                       FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC | UFFD_FEATURE_PAGEFAULT_FLAG_WP};
  if (ioctl(trap->faults, UFFDIO_API, &api) != 0) return -1;
  struct uffdio_register order = {.range = {(uintptr_t)trap->pages, trap->bytes},
                                  .mode = UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP};
  return ioctl(trap->faults, UFFDIO_REGISTER, &order);
}

/* Filled through the file, so that its memory is there. */
static int fill(struct limit_trap* trap) {
  char page[PAGE];
  memset(page, 1, sizeof page);
  for (size_t at = 0; at < trap->bytes; at += PAGE) {
    if (pwrite(trap->file, page, sizeof page, (off_t)at) != PAGE) return -1;
  }
  return 0;
}

struct limit_trap* limit_trap_open(enum limit_trap_kind kind, size_t pages) {
  struct limit_trap* const trap = calloc(1, sizeof *trap);
  if (trap == NULL) return NULL;
  *trap = (struct limit_trap){.kind = kind, .pages = MAP_FAILED, .bytes = pages * PAGE, .faults = -1};
  trap->file = memfd_create("limit-trap", MFD_CLOEXEC);
  if (trap->file >= 0 && fill(trap) == 0) {
    trap->pages = mmap(NULL, trap->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, trap->file, 0);
  }
  if (trap->pages != MAP_FAILED && (kind != LIMIT_TRAP_UFFD || open_faults(trap) == 0)) return trap;
  const int why = errno;
  limit_trap_close(trap);
  errno = why;
  return NULL;
}

void limit_trap_arm(struct limit_trap* trap) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = on_fault;
  sigfillset(&action.sa_mask);
  trap->faulted = 0;
  armed = trap;
  if (sigaction(signal_of(trap), &action, &trap->earlier) != 0) fail("set a handler");
  const int unmapped = trap->faults < 0 ? mprotect(trap->pages, trap->bytes, PROT_NONE)
                                        : madvise(trap->pages, trap->bytes, MADV_DONTNEED);
  if (unmapped != 0) fail("unmap pages");
}

void limit_trap_touch(struct limit_trap* trap, size_t page) { (void)*(volatile char*)(trap->pages + page * PAGE); }

size_t limit_trap_disarm(struct limit_trap* trap) {
  if (sigaction(signal_of(trap), &trap->earlier, NULL) != 0) fail("restore a handler");
  return trap->faulted;
}

void limit_trap_close(struct limit_trap* trap) {
  if (trap->pages != MAP_FAILED) munmap(trap->pages, trap->bytes);
  if (trap->faults >= 0) close(trap->faults);
  if (trap->file >= 0) close(trap->file);
  free(trap);
}
