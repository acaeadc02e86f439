/* Calls with an int result refuse what is wrong, say so, and touch nothing; the job goes on. */
#include "support.h"

#define REFUSED(call) CHECK((call) < 0)

static double one = 1;

static void contiguous(char* there) {
  double mine[4] = {0};
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  REFUSED(ARMCI_Put(mine, there, 8, -1));
  REFUSED(ARMCI_Put(mine, there, 8, ranks));
  REFUSED(ARMCI_Put(mine, there, -8, next_rank()));
  REFUSED(ARMCI_Put(mine, NULL, 8, next_rank()));
  REFUSED(ARMCI_Put(mine, mine, 8, next_rank()));
  REFUSED(ARMCI_Put(mine, there + (1 << 20), 8, next_rank()));
  REFUSED(ARMCI_Get(there, mine, 8, ranks));
  REFUSED(ARMCI_Get(there, mine, -8, next_rank()));
  REFUSED(ARMCI_Get(mine, mine, 8, next_rank()));
  REFUSED(ARMCI_Acc(ARMCI_ACC_OFF, &one, mine, there, 8, next_rank()));
  REFUSED(ARMCI_Acc(ARMCI_ACC_RA + 1, &one, mine, there, 8, next_rank()));
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, 7, next_rank()));
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, -8, next_rank()));
  REFUSED(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, there, 8, ranks));
  REFUSED(ARMCI_Put_flag(mine, there, 8, (int*)mine, 1, next_rank()));
  REFUSED(ARMCI_Put_flag(mine, there, -8, (int*)there, 1, next_rank()));
  REFUSED(ARMCI_Put_flag(mine, there, 8, (int*)(there + 1), 1, next_rank()));
  REFUSED(ARMCI_NbPut(mine, there, -8, next_rank(), &handle));
  REFUSED(ARMCI_NbGet(there, mine, 8, ranks, &handle));
  REFUSED(ARMCI_NbAcc(0, &one, mine, there, 8, next_rank(), &handle));
  REFUSED(ARMCI_NbAcc(ARMCI_ACC_DBL, &one, mine, there, -8, next_rank(), &handle));
  REFUSED(ARMCI_PutValueInt(1, mine, next_rank()));
  REFUSED(ARMCI_WaitProc(ranks));
  REFUSED(ARMCI_Test(NULL));
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}

static void shapes(char* there) {
  double mine[64] = {0};
  int counts[] = {16, 2}, stride[] = {32}, negative[] = {16, -2}, odd[] = {12, 2};
  REFUSED(ARMCI_PutS(mine, stride, there, stride, counts, -1, next_rank()));
  REFUSED(ARMCI_PutS(mine, stride, there, stride, counts, 17, next_rank()));
  REFUSED(ARMCI_PutS(mine, stride, there, stride, NULL, 1, next_rank()));
  REFUSED(ARMCI_PutS(mine, NULL, there, stride, counts, 1, next_rank()));
  REFUSED(ARMCI_PutS(mine, stride, there, NULL, counts, 1, next_rank()));
  REFUSED(ARMCI_PutS(mine, stride, there, stride, negative, 1, next_rank()));
  REFUSED(ARMCI_PutS(mine, stride, there, stride, counts, 1, -5));
  REFUSED(ARMCI_GetS(there + (1 << 20), stride, mine, stride, counts, 1, next_rank()));
  REFUSED(ARMCI_AccS(1, &one, mine, stride, there, stride, counts, 1, next_rank()));
  REFUSED(ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, stride, there, stride, odd, 1, next_rank()));
  REFUSED(ARMCI_PutS_flag(mine, stride, there, stride, counts, 1, (int*)mine, 1, next_rank()));
  void *from[2] = {mine, mine}, *to[2] = {there, mine};
  armci_giov_t outside = {from, to, 2, 8}, longer = {from, to, -1, 8}, small = {from, to, 1, -8},
               none = {from, NULL, 1, 8};
  REFUSED(ARMCI_PutV(&outside, 1, next_rank()));
  REFUSED(ARMCI_PutV(&longer, 1, next_rank()));
  REFUSED(ARMCI_PutV(&small, 1, next_rank()));
  REFUSED(ARMCI_PutV(&none, 1, next_rank()));
  REFUSED(ARMCI_GetV(NULL, 1, next_rank()));
  REFUSED(ARMCI_AccV(99, &one, &outside, 1, next_rank()));
  REFUSED(ARMCI_NbPutV(&outside, -1, next_rank(), NULL));
}

static void words(char* there) {
  int value = 0;
  long wide = 0;
  REFUSED(ARMCI_Rmw(9, &value, there, 1, next_rank()));
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, NULL, there, 1, next_rank()));
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &value, there + 2, 1, next_rank()));
  REFUSED(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &wide, there + 4, 1, next_rank()));
  REFUSED(ARMCI_Rmw(ARMCI_SWAP, &value, &value, 1, next_rank()));
  REFUSED(ARMCI_Rmw(ARMCI_SWAP, &value, there, 1, ranks));
  REFUSED(ARMCI_Rmw_long(ARMCI_SWAP, &wide, there, 1, next_rank()));
  REFUSED(ARMCI_Compare_and_swap_int(NULL, there, 0, 1, next_rank()));
  REFUSED(armci_notify(ranks));
  REFUSED(armci_notify_wait(-1, &value));
  REFUSED(ARMCI_Create_mutexes(me == 0 ? -1 : 1)); /* in all ranks */
  REFUSED(ARMCI_Destroy_mutexes());
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  REFUSED(ARMCI_Create_mutexes(1));
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  void** base = allocate(1 << 12);
  memset(base[me], 7, 1 << 12);
  ARMCI_Barrier();
  contiguous(base[next_rank()]);
  shapes(base[next_rank()]);
  words(base[next_rank()]);
  ARMCI_Barrier();
  for (int i = 0; i < 1 << 12; ++i) CHECK_EQUAL(((char*)base[me])[i], 7);
  release(base);
  finish();
  return 0;
}
