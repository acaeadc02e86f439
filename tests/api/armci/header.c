/* SPDX-License-Identifier: Apache-2.0 */
/* The headers alone, as C11 and as C++20; both orders of including them; types, constants and both names of a call. */
#include "armci.h"
#include "message.h"

#define SAME(found, wanted) typedef char check_##found[(found) == (wanted) ? 1 : -1]

SAME(FAIL, -1);
SAME(FAIL2, -2);
SAME(FAIL3, -3);
SAME(FAIL4, -4);
SAME(FAIL5, -5);
SAME(FAIL6, -6);
SAME(FAIL7, -7);
SAME(FAIL8, -8);
SAME(ARMCI_SWAP, 10);
SAME(ARMCI_SWAP_LONG, 11);
SAME(ARMCI_FETCH_AND_ADD, 12);
SAME(ARMCI_FETCH_AND_ADD_LONG, 13);
SAME(ARMCI_ACC_OFF, 36);
SAME(ARMCI_ACC_INT, 37);
SAME(ARMCI_ACC_DBL, 38);
SAME(ARMCI_ACC_FLT, 39);
SAME(ARMCI_ACC_CPL, 40);
SAME(ARMCI_ACC_DCP, 41);
SAME(ARMCI_ACC_LNG, 42);
SAME(ARMCI_ACC_RA, 43);
SAME(ARMCI_MAX_STRIDE_LEVEL, 8);
SAME(ARMCI_DOMAIN_SMP, 0);
SAME(ARMCI_INT, -99);
SAME(ARMCI_LONG, -101);
SAME(ARMCI_LONG_LONG, -102);
SAME(ARMCI_FLOAT, -306);
SAME(ARMCI_DOUBLE, -307);
SAME(SCOPE_ALL, 333);
SAME(SCOPE_NODE, 337);
SAME(SCOPE_MASTERS, 339);

typedef char check_size[(armci_size_t)-1 < 0 && sizeof(armci_size_t) == sizeof(long) ? 1 : -1];

/* Only compiled and linked: it is called with no arguments. */
int main(int argc, char** argv) {
  if (argc > 1) {
    armci_hdl_t handle;
    armci_req_t same = {{0, 0, 0, 0}};
    ARMCI_Group group, copy;
    armci_giov_t vector = {(void**)0, (void**)0, 0, 0};
    armci_size_t bytes = 8;
    armci_domain_t domain = ARMCI_DOMAIN_SMP;
    armci_meminfo_t info;
    void* pointers[1];
    if (ARMCI_Init_args(&argc, &argv) != 0 || PARMCI_Initialized() == 0) return 1;
    ARMCI_INIT_HANDLE(&handle);
    handle = same;
    ARMCI_Group_get_world(&group);
    copy = group;
    ARMCI_Malloc_group(pointers, bytes, &copy);
    ARMCI_NbPutV(&vector, 1, vector.ptr_array_len, &handle);
    ARMCI_Memget((size_t)bytes, &info, armci_domain_count(domain));
    parmci_msg_barrier();
    PARMCI_Finalize();
  }
  return 0;
}
