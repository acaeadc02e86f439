/* SPDX-License-Identifier: Apache-2.0 */
/* Nonblocking operations: explicit and implicit handles, waiting and testing, aggregates, handles that nobody set. */
#include "support.h"

enum { kMany = 500 };

static void explicit_handles(void) {
  void** base = allocate(3 * kMany * sizeof(long));
  static long out[kMany], in[kMany];
  armci_hdl_t puts[kMany], gets;
  long* const to = base[next_rank()];
  memset(puts, 0xa5, sizeof puts); /* never initialized: counts as new */
  for (int i = 0; i < kMany; ++i) {
    out[i] = me * 1000 + i;
    CHECK_EQUAL(ARMCI_NbPut(&out[i], &to[i], sizeof(long), next_rank(), &puts[i]), 0);
  }
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_Wait(&puts[i]), 0);
  ARMCI_Fence(next_rank());
  ARMCI_INIT_HANDLE(&gets);
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbGet(&to[i], &in[i], sizeof(long), next_rank(), &gets), 0);
  CHECK_EQUAL(ARMCI_Wait(&gets), 0);
  CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
  CHECK_EQUAL(ARMCI_Wait(&gets), 0); /* nothing left to wait for */
  release(base);
}

static void strided_and_vector(void) {
  void** base = allocate(8192);
  long out[64], in[64], scale = 2;
  int counts[] = {4 * sizeof(long), 16}, packed[] = {4 * sizeof(long)}, spread[] = {8 * sizeof(long)};
  const int target = next_rank();
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  for (int i = 0; i < 64; ++i) out[i] = i + me;
  CHECK_EQUAL(ARMCI_NbPutS(out, packed, base[target], spread, counts, 1, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbAccS(ARMCI_ACC_LNG, &scale, out, packed, base[target], spread, counts, 1, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbGetS(base[target], spread, in, packed, counts, 1, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  for (int i = 0; i < 64; ++i) CHECK_EQUAL(in[i], 3 * out[i]);
  void* from[1] = {out};
  void* to[1] = {base[target]};
  void* back[1] = {in};
  armci_giov_t put = {from, to, 1, sizeof out}, get = {to, back, 1, sizeof in};
  CHECK_EQUAL(ARMCI_NbPutV(&put, 1, target, NULL), 0);
  CHECK_EQUAL(ARMCI_WaitProc(target), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbAccV(ARMCI_ACC_LNG, &scale, &put, 1, target, NULL), 0);
  CHECK_EQUAL(ARMCI_NbAcc(ARMCI_ACC_LNG, &scale, out, base[target], sizeof out, target, NULL), 0);
  CHECK_EQUAL(ARMCI_WaitAll(), 0);
  ARMCI_Fence(target);
  CHECK_EQUAL(ARMCI_NbGetV(&get, 1, target, NULL), 0);
  CHECK_EQUAL(ARMCI_Wait(NULL), 0);
  for (int i = 0; i < 64; ++i) CHECK_EQUAL(in[i], 5 * out[i]);
  release(base);
}

static void testing(void) {
  void** base = allocate(1 << 20);
  char* const in = ARMCI_Malloc_local(1 << 20);
  memset(base[me], me + 1, 1 << 20);
  ARMCI_Barrier();
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  CHECK_EQUAL(ARMCI_NbGet(base[next_rank()], in, 1 << 20, next_rank(), &handle), 0);
  int tested;
  while ((tested = ARMCI_Test(&handle)) == 1) {
  }
  CHECK_EQUAL(tested, 0);
  for (int i = 0; i < 1 << 20; i += 4095) CHECK_EQUAL(in[i], next_rank() + 1);
  CHECK_EQUAL(ARMCI_Test(&handle), 0);
  CHECK_EQUAL(ARMCI_Free_local(in), 0);
  release(base);
}

static void aggregates(void) {
  void** base = allocate(kMany * sizeof(long));
  static long out[kMany], in[kMany];
  long* const to = base[next_rank()];
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kMany; ++i) {
      out[i] = round * 100000 + me * 1000 + i;
      CHECK_EQUAL(ARMCI_NbPut(&out[i], &to[i], sizeof(long), next_rank(), &handle), 0);
    }
    if (round == 1) ARMCI_UNSET_AGGREGATE_HANDLE(&handle); /* what was gathered still goes with the wait */
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    ARMCI_Barrier();
    for (int i = 0; i < kMany; ++i) CHECK_EQUAL(((long*)base[me])[i], round * 100000 + previous_rank() * 1000 + i);
    ARMCI_SET_AGGREGATE_HANDLE(&handle);
    for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbGet(&to[i], &in[i], sizeof(long), next_rank(), &handle), 0);
    CHECK_EQUAL(ARMCI_Wait(&handle), 0);
    CHECK_EQUAL(memcmp(in, out, sizeof in), 0);
    ARMCI_Barrier();
  }
  release(base);
}

/* Values of every type between other puts, to more ranks than one: each is kept, although its variable changes. */
static void aggregate_values(void) {
  enum { kRound = 24 };
  void** base = allocate(kMany * kRound * ranks);
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  for (int target = 0; target < ranks; ++target) {
    char* at = (char*)base[target] + kMany * kRound * me;
    for (int i = 0; i < kMany; ++i, at += kRound) {
      CHECK_EQUAL(ARMCI_NbPutValueLong(1000L * me + i, at, target, &handle), 0);
      CHECK_EQUAL(ARMCI_NbPutValueInt(-i, at + 8, target, &handle), 0);
      CHECK_EQUAL(ARMCI_NbPutValueFloat((float)i / 4, at + 12, target, &handle), 0);
      CHECK_EQUAL(ARMCI_NbPutValueDouble((double)i / 8, at + 16, target, &handle), 0);
    }
  }
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  ARMCI_Barrier();
  const char* at = base[me];
  for (int from = 0; from < ranks; ++from) {
    for (int i = 0; i < kMany; ++i, at += kRound) {
      CHECK_EQUAL(*(const long*)at, 1000L * from + i);
      CHECK_EQUAL(*(const int*)(at + 8), -i);
      CHECK_NEAR(*(const float*)(at + 12), (float)i / 4);
      CHECK_NEAR(*(const double*)(at + 16), (double)i / 8);
    }
  }
  ARMCI_Barrier();
  release(base);
}

/* A copy of a handle that was waited for names nothing, even when its number is in use again. */
static void stale_copies(void) {
  void** base = allocate(1 << 16);
  static char out[1 << 14];
  armci_hdl_t first, copy, second;
  ARMCI_INIT_HANDLE(&first);
  ARMCI_INIT_HANDLE(&second);
  CHECK_EQUAL(ARMCI_NbPut(out, base[next_rank()], sizeof out, next_rank(), &first), 0);
  copy = first;
  CHECK_EQUAL(ARMCI_Wait(&first), 0);
  CHECK_EQUAL(ARMCI_NbPut(out, base[next_rank()], sizeof out, next_rank(), &second), 0);
  CHECK_EQUAL(ARMCI_Wait(&copy), 0);
  CHECK_EQUAL(ARMCI_NbPut(out, base[next_rank()], sizeof out, next_rank(), &copy), 0);
  CHECK_EQUAL(ARMCI_Wait(&second), 0);
  CHECK_EQUAL(ARMCI_Wait(&copy), 0);
  release(base);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  explicit_handles();
  strided_and_vector();
  testing();
  aggregates();
  aggregate_values();
  stale_copies();
  finish();
  return 0;
}
