/* Start and end: `start WAY` starts, does a little, and ends as WAY says. A process prints "started" with its number.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static unsigned last(void) { return Tmk_nprocs - 1; }

static void print_last_words(void) { printf("last words %u\n", Tmk_proc_id); }

/* A child of fork has no part in the job. */
static void fork_and_exit(void) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) exit(5);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

/* The last process is late: the first one serves its page until then. */
static void be_late(void) {
  static int* shared;
  if (Tmk_proc_id == 0) {
    shared = Tmk_malloc(sizeof *shared);
    *shared = 17;
    Tmk_distribute(&shared, sizeof shared);
  }
  Tmk_barrier(3);
  if (Tmk_proc_id != last()) return;
  usleep(200000);
  CHECK(*shared == 17);
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "unstarted") == 0) Tmk_exit(4);
  atexit(print_last_words);
  Tmk_startup(argc, argv);
  CHECK(Tmk_proc_id < Tmk_nprocs);
  printf("started %u of %u\n", Tmk_proc_id, Tmk_nprocs);
  Tmk_barrier(0);
  if (strcmp(way, "return") == 0) return 0;
  if (strcmp(way, "return-3") == 0) return Tmk_proc_id == last() ? 3 : 0;
  if (strcmp(way, "exit-3") == 0 && Tmk_proc_id == last()) exit(3);
  if (strcmp(way, "Tmk_exit-3") == 0 && Tmk_proc_id == last()) Tmk_exit(3);
  if (strcmp(way, "exit-256") == 0 && Tmk_proc_id == last()) exit(256);
  if (strcmp(way, "fork") == 0) fork_and_exit();
  if (strcmp(way, "late") == 0) be_late();
  Tmk_exit(0);
}
