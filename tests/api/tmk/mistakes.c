/* One mistake, by its name; the last process makes it, and the job must end with a sentence about it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

static const int kConstant[2000] = {1, 2, 3};
static int object;

static void make(const char* mistake) {
  int local = 0;
  if (strcmp(mistake, "lock") == 0) Tmk_lock_acquire(TMK_NLOCKS);
  if (strcmp(mistake, "lock-of-setting") == 0) Tmk_lock_acquire(64);
  if (strcmp(mistake, "unlock") == 0) Tmk_lock_release(5000);
  if (strcmp(mistake, "unlock-free") == 0) Tmk_lock_release(7);
  if (strcmp(mistake, "lock-twice") == 0) {
    Tmk_lock_acquire(8);
    Tmk_lock_acquire(8);
  }
  if (strcmp(mistake, "barrier") == 0) Tmk_barrier(TMK_NBARRIERS);
  if (strcmp(mistake, "barriers-differ") == 0) Tmk_barrier(11);
  if (strcmp(mistake, "free") == 0) Tmk_free(&object);
  if (strcmp(mistake, "distribute-stack") == 0) Tmk_distribute(&local, sizeof local);
  if (strcmp(mistake, "distribute-malloc") == 0) Tmk_distribute(malloc(100), 100);
  if (strcmp(mistake, "distribute-constant") == 0) Tmk_distribute(kConstant, sizeof kConstant);
  if (strcmp(mistake, "distribute-long") == 0) Tmk_distribute(&object, (size_t)1 << 30);
  if (strcmp(mistake, "exit-early") == 0) exit(0);
  if (strcmp(mistake, "startup-twice") == 0) Tmk_startup(0, NULL);
}

int main(int argc, char** argv) {
  const char* const mistake = argc > 1 ? argv[1] : "";
  if (strcmp(mistake, "early-barrier") == 0) Tmk_barrier(0);
  if (strcmp(mistake, "early-lock") == 0) Tmk_lock_acquire(0);
  if (strcmp(mistake, "early-malloc") == 0) Tmk_malloc(8);
  if (strcmp(mistake, "early-distribute") == 0) Tmk_distribute(&object, sizeof object);
  Tmk_startup(argc, argv);
  if (Tmk_proc_id == Tmk_nprocs - 1) make(mistake);
  Tmk_barrier(10);
  printf("no mistake was found\n");
  return 0;
}
