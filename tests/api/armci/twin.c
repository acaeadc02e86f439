/* SPDX-License-Identifier: Apache-2.0 */
/* A program that puts itself before two calls, as a profiling tool does: its own are taken, and the twins still work.
 */
#include "support.h"

static int puts_seen, barriers_seen;

int ARMCI_Put(void* src, void* dst, int bytes, int proc) {
  ++puts_seen;
  return PARMCI_Put(src, dst, bytes, proc);
}

void ARMCI_Barrier(void) {
  ++barriers_seen;
  PARMCI_Barrier();
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  void** base = allocate(64);
  long value = 5;
  CHECK_EQUAL(ARMCI_Put(&value, base[next_rank()], sizeof value, next_rank()), 0);
  ARMCI_Barrier();
  CHECK_EQUAL(*(long*)base[me], 5);
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_PutValueLong(6, base[next_rank()], next_rank()), 0); /* the library itself calls neither name */
  CHECK_EQUAL(puts_seen, 1);
  CHECK_EQUAL(barriers_seen, 2);
  release(base);
  finish();
  return 0;
}
