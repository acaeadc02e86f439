/* SPDX-License-Identifier: Apache-2.0 */
/* Vector calls from source files with both orders of armci_giov_t's members, in one program. */
#ifndef GRAPNEL_TESTS_ARMCI_GIOV_ORDERS_H
#define GRAPNEL_TESTS_ARMCI_GIOV_ORDERS_H

enum { kPieces = 40 }; /* more than the library holds on its stack */

/* The order is the file's own: each puts `values` to the places at rank `target`, adds ten times as much, gets it back
 * into `found`; then the same by the nonblocking calls, so that a place holds 11 times its value each time. */
#ifdef __cplusplus
extern "C" {
#endif
void transfer_in_default_order(long* values, long* found, void** places, int target);
void transfer_bytes_first_c(long* values, long* found, void** places, int target);
void transfer_bytes_first_cxx(long* values, long* found, void** places, int target);
int accumulates_seen(void); /* by the tool in the C file with bytes first */
#ifdef __cplusplus
}
#endif

#endif
