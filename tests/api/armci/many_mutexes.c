/* SPDX-License-Identifier: Apache-2.0 */
/* Many mutexes: more of another node than a node keeps words for by default, more at once that somebody waits for than
 * a rank has places in queues by default, and more than there is memory. */
#include <limits.h>
#include <unistd.h>

#include "support.h"

enum { kMutexes = 33000, kHeld = 600 };

/* Rank 0 holds them all, and gives each one back when the next rank has begun to wait for it, which keeps it. */
static void hold_many(int home) {
  const int heir = ranks > 1;
  for (int mutex = 0; me == 0 && mutex < kHeld; ++mutex) ARMCI_Lock(mutex, home);
  ARMCI_Barrier();
  for (int mutex = 0; me == 0 && mutex < kHeld; ++mutex) {
    usleep(200);
    ARMCI_Unlock(mutex, home);
  }
  for (int mutex = 0; me == heir && mutex < kHeld; ++mutex) ARMCI_Lock(mutex, home);
  for (int mutex = 0; me == heir && mutex < kHeld; ++mutex) ARMCI_Unlock(mutex, home);
  ARMCI_Barrier();
}

/* 64 bytes each at the least. */
static void too_many(void) {
  if (memory_kib("/proc/meminfo", "MemAvailable:") > 60L << 20) return; /* KiB: they may be there */
  CHECK_EQUAL(ARMCI_Create_mutexes(INT_MAX), FAIL2);
  CHECK_EQUAL(ARMCI_Create_mutexes(INT_MAX / 2), FAIL2);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int home = ranks - 1;
  too_many();
  CHECK_EQUAL(ARMCI_Create_mutexes(me == home ? kMutexes : kHeld), 0);
  ARMCI_Barrier();
  for (int mutex = 0; me == 0 && mutex < kMutexes; ++mutex) {
    ARMCI_Lock(mutex, home);
    ARMCI_Unlock(mutex, home);
  }
  hold_many(0);
  hold_many(home);
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  finish();
  return 0;
}
