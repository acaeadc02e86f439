/* The program's handlers for memory faults, and its signal masks, beside the heap's.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { kPage = 4096 };

static volatile int* shared;
static char* protected_page;
static int early_calls, late_calls, old_style_calls;
static sigjmp_buf back;
static unsigned round_of_heap;

static void allow(void* address) {
  CHECK(address == (void*)protected_page);
  CHECK(mprotect(protected_page, kPage, PROT_READ | PROT_WRITE) == 0);
}

static void early(int number, siginfo_t* info, void* machine) {
  (void)number, (void)machine;
  ++early_calls;
  allow(info->si_addr);
}

static void late(int number, siginfo_t* info, void* machine) {
  (void)number, (void)machine;
  ++late_calls;
  allow(info->si_addr);
}

static void old_style(int number) {
  (void)number;
  ++old_style_calls;
  siglongjmp(back, 1);
}

static void fault(void) {
  CHECK(mprotect(protected_page, kPage, PROT_NONE) == 0);
  *(volatile char*)protected_page = 1;
}

/* Every process writes to a page that the others have: accesses fault again. */
static void use_heap(void) {
  shared[Tmk_proc_id] = (int)++round_of_heap;
  Tmk_barrier(1);
  for (unsigned i = 0; i < Tmk_nprocs; ++i) CHECK(shared[i] == (int)round_of_heap);
  Tmk_barrier(2);
}

static void install(int number, void (*handler)(int, siginfo_t*, void*), int flags, struct sigaction* before) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaddset(&action.sa_mask, SIGALRM);
  CHECK(sigaction(number, &action, before) == 0);
}

static void test_handlers(void) {
  struct sigaction found;
  CHECK(sigaction(SIGSEGV, NULL, &found) == 0);
  CHECK(found.sa_sigaction == early);
  fault();
  CHECK(early_calls == 1);
  use_heap();

  install(SIGSEGV, late, 0, &found);
  CHECK(found.sa_sigaction == early && (found.sa_flags & SA_SIGINFO) != 0);
  use_heap();
  fault();
  fault();
  CHECK(early_calls == 1 && late_calls == 2);
  CHECK(sigaction(SIGSEGV, NULL, &found) == 0);
  CHECK(found.sa_sigaction == late && sigismember(&found.sa_mask, SIGALRM) == 1);

  CHECK((void*)signal(SIGSEGV, old_style) == (void*)late);
  for (int i = 1; i <= 3; ++i) {
    if (sigsetjmp(back, 1) == 0) fault();
    CHECK(old_style_calls == i);
    use_heap();
  }
  CHECK(signal(SIGSEGV, SIG_DFL) == old_style);
  install(SIGBUS, late, SA_RESETHAND, NULL);
  use_heap();
}

/* Other signals are the system's. */
static void test_others(void) {
  struct sigaction found;
  CHECK(signal(SIGUSR2, SIG_IGN) == SIG_DFL);
  CHECK(sigaction(SIGUSR2, NULL, &found) == 0 && found.sa_handler == SIG_IGN);
  CHECK(signal(0, SIG_IGN) == SIG_ERR);
  CHECK(sigaction(SIGKILL, &found, NULL) == -1);
}

static void* block_all(void* change) {
  int (*const mask)(int, const sigset_t*, sigset_t*) = *(int (**)(int, const sigset_t*, sigset_t*))change;
  sigset_t all, found;
  sigfillset(&all);
  CHECK(mask(SIG_BLOCK, &all, NULL) == 0);
  CHECK(mask(SIG_SETMASK, &all, NULL) == 0);
  CHECK(mask(SIG_BLOCK, NULL, &found) == 0);
  CHECK(sigismember(&found, SIGUSR1) == 1);
  CHECK(sigismember(&found, SIGSEGV) == 0 && sigismember(&found, SIGBUS) == 0);
  use_heap();
  return NULL;
}

static void test_masks(void) {
  int (*mask)(int, const sigset_t*, sigset_t*) = sigprocmask;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, block_all, &mask) == 0 && pthread_join(thread, NULL) == 0);
  mask = pthread_sigmask;
  CHECK(pthread_create(&thread, NULL, block_all, &mask) == 0 && pthread_join(thread, NULL) == 0);
}

/* With the default action a fault ends the process; here a child. */
static void test_default(void) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(10);
    signal(SIGSEGV, SIG_DFL);
    fault();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0); /* or by a sanitizer */
}

int main(int argc, char** argv) {
  sigset_t all;
  sigfillset(&all);
  CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
  protected_page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install(SIGSEGV, early, 0, NULL);
  Tmk_startup(argc, argv);
  sigemptyset(&all);
  CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
  if (Tmk_proc_id == 0) {
    shared = Tmk_malloc(kPage);
    Tmk_distribute((const void*)&shared, sizeof shared);
  }
  Tmk_barrier(0);
  test_handlers();
  test_others();
  test_masks();
  test_default();
  use_heap();
  Tmk_barrier(3);
  printf("passed %u\n", Tmk_proc_id);
  return 0;
}
