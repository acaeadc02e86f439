/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a user of an installed prefix writes it: it names ARMCI only, and the library brings the rest. */
#include <stdio.h>
#include <stdlib.h>

#include "armci.h"
#include "message.h"

int main(void) {
  if (ARMCI_Init() != 0) return 1;
  const int me = armci_msg_me(), ranks = armci_msg_nproc();
  void** base = malloc(sizeof(void*) * (size_t)ranks);
  if (base == NULL || ARMCI_Malloc(base, sizeof(long)) != 0) return 1;
  if (ARMCI_PutValueLong(100 + me, base[(me + 1) % ranks], (me + 1) % ranks) != 0) return 1;
  ARMCI_Barrier();
  printf("rank %d received %ld\n", me, *(long*)base[me]);
  if (ARMCI_Free(base[me]) != 0) return 1;
  ARMCI_Finalize();
  free(base);
  return 0;
}
