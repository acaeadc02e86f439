/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled as C and as C++ with -DARMCI_GIOV_BYTES_FIRST, and sets the members by position. The C one also has a tool
 * before a vector call: what this order's programs call is what such a tool, compiled alike, defines. */
#define GIOV_OF(from, to) \
  { from, to, sizeof(long), kPieces }
#ifdef __cplusplus
#define GIOV_TRANSFER transfer_bytes_first_cxx
#else
#define GIOV_TRANSFER transfer_bytes_first_c
#endif
#include "giov_transfer.h"

#ifndef __cplusplus
static int seen;

int ARMCI_AccV(int type, void* scale, armci_giov_t* vectors, int length, int proc) {
  ++seen;
  return PARMCI_AccV(type, scale, vectors, length, proc);
}

int accumulates_seen(void) { return seen; }
#endif
