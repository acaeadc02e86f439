/* Rank 0 uses more distinct mutexes of another node than a node keeps words for by default. */
#include "support.h"

enum { kMutexes = 33000 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int home = ranks - 1;
  CHECK_EQUAL(ARMCI_Create_mutexes(me == home ? kMutexes : 0), 0);
  ARMCI_Barrier();
  for (int mutex = 0; me == 0 && mutex < kMutexes; ++mutex) {
    ARMCI_Lock(mutex, home);
    ARMCI_Unlock(mutex, home);
  }
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  finish();
  return 0;
}
