/* SPDX-License-Identifier: Apache-2.0 */
/* Files with both orders of armci_giov_t's members in one program; this one has the default, ptr_array_len first. */
#define GIOV_OF(from, to) \
  { from, to, kPieces, sizeof(long) }
#define GIOV_TRANSFER transfer_in_default_order
#include "giov_transfer.h"

static void check(void (*transfer)(long*, long*, void**, int)) {
  void** base = allocate(64 * kPieces);
  long values[kPieces], found[kPieces];
  void* places[kPieces];
  for (int i = 0; i < kPieces; ++i) {
    values[i] = 1000 * me + i;
    found[i] = -1;
    places[i] = (char*)base[next_rank()] + 64 * (kPieces - 1 - i);
  }
  transfer(values, found, places, next_rank());
  release(base);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  check(transfer_in_default_order);
  check(transfer_bytes_first_c);
  check(transfer_bytes_first_cxx);
  check(transfer_in_default_order);
  CHECK_EQUAL(accumulates_seen(), 2); /* by both files of that order, and by no other */
  finish();
  return 0;
}
