/* SPDX-License-Identifier: Apache-2.0 */
/* The body of the transfers that giov_orders.h declares: includes armci.h in the order that the including file chose.
 * GIOV_TRANSFER: the function's name. GIOV_OF(from, to): one descriptor's members, by position, in that order. */
#include "giov_orders.h"
#include "support.h"

void GIOV_TRANSFER(long* values, long* found, void** places, int target) {
  void *from[kPieces], *into[kPieces];
  for (int i = 0; i < kPieces; ++i) {
    from[i] = &values[i];
    into[i] = &found[i];
  }
  armci_giov_t out = GIOV_OF(from, places), in = GIOV_OF(places, into);
  CHECK_EQUAL(out.ptr_array_len, kPieces);
  CHECK_EQUAL(out.bytes, sizeof(long));
  long scale = 10;
  CHECK_EQUAL(ARMCI_PutV(&out, 1, target), 0);
  CHECK_EQUAL(ARMCI_AccV(ARMCI_ACC_LNG, &scale, &out, 1, target), 0);
  CHECK_EQUAL(ARMCI_GetV(&in, 1, target), 0);
  for (int i = 0; i < kPieces; ++i) CHECK_EQUAL(found[i], 11 * values[i]);
  for (int i = 0; i < kPieces; ++i) found[i] = -1;

  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  CHECK_EQUAL(ARMCI_NbPutV(&out, 1, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbAccV(ARMCI_ACC_LNG, &scale, &out, 1, target, NULL), 0);
  CHECK_EQUAL(ARMCI_WaitAll(), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbGetV(&in, 1, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  for (int i = 0; i < kPieces; ++i) CHECK_EQUAL(found[i], 11 * values[i]);

  out.bytes = -1;
  CHECK(ARMCI_PutV(&out, 1, target) < 0);
}
