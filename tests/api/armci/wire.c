/* SPDX-License-Identifier: Apache-2.0 */
/* How many messages a thing takes, told by GRAPNEL_STATS at the end: rank 0 does what the argument names, to the last
 * rank, which is on another node. run.py compares the table. */
#include "support.h"

enum { kMany = 100, kBytes = 1 << 20 };

static char *there, *here;
static int target;

static armci_hdl_t aggregate(void) {
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  return handle;
}

static void puts_one_by_one(void) {
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_Put(here + 8 * i, there + 16 * i, 8, target), 0);
}

static void aggregate_puts(void) {
  armci_hdl_t handle = aggregate();
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbPut(here + 8 * i, there + 16 * i, 8, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}

/* Not a byte in the values is other than `here` has. */
static void aggregate_values(void) {
  armci_hdl_t handle = aggregate();
  long value;
  memcpy(&value, here, sizeof value);
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbPutValueLong(value, there + 16 * i, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}

static void aggregate_gets(void) {
  armci_hdl_t handle = aggregate();
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbGet(there + 16 * i, here + 8 * i, 8, target, &handle), 0);
  while (ARMCI_Test(&handle) == 1) {
  }
}

/* Puts, and then gets, on one handle. */
static void aggregate_both(void) {
  armci_hdl_t handle = aggregate();
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbPut(here + 8 * i, there + 16 * i, 8, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  for (int i = 0; i < kMany; ++i) CHECK_EQUAL(ARMCI_NbGet(there + 16 * i, here + 8 * i, 8, target, &handle), 0);
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
}

static void strided(void) {
  int rows[] = {512, 64}, apart[] = {1024};
  CHECK_EQUAL(ARMCI_PutS(here, apart, there, apart, rows, 1, target), 0);
}

static void vector(void) {
  void *from[kMany], *to[kMany];
  for (int i = 0; i < kMany; ++i) from[i] = here + 8 * i, to[i] = there + 16 * i;
  armci_giov_t pieces;
  pieces.src_ptr_array = from;
  pieces.dst_ptr_array = to;
  pieces.ptr_array_len = kMany;
  pieces.bytes = 8;
  CHECK_EQUAL(ARMCI_PutV(&pieces, 1, target), 0);
}

static void flags(void) {
  for (int i = 0; i < 10; ++i) {
    CHECK_EQUAL(ARMCI_Put_flag(here, there, 4096, (int*)(there + kBytes - 8), i + 1, target), 0);
  }
}

static void strided_flag(void) {
  int rows[] = {512, 64}, apart[] = {1024};
  CHECK_EQUAL(ARMCI_PutS_flag(here, apart, there, apart, rows, 1, (int*)(there + kBytes - 8), 1, target), 0);
}

/* The second fence has nothing to ask for. */
static void fences(void) {
  CHECK_EQUAL(ARMCI_Put(here, there, 8, target), 0);
  ARMCI_Fence(target);
  ARMCI_Fence(target);
  ARMCI_AllFence();
}

/* What the target has answered since was applied before: a get after a put acknowledges it. */
static void acknowledged(void) {
  CHECK_EQUAL(ARMCI_Put(here, there, 8, target), 0);
  CHECK_EQUAL(ARMCI_Get(there, here, 8, target), 0);
  ARMCI_Fence(target);
}

static const struct {
  const char* name;
  void (*act)(void);
} kActs[] = {{"puts", puts_one_by_one},
             {"aggregate-puts", aggregate_puts},
             {"aggregate-values", aggregate_values},
             {"aggregate-gets", aggregate_gets},
             {"aggregate-both", aggregate_both},
             {"strided", strided},
             {"vector", vector},
             {"flags", flags},
             {"strided-flag", strided_flag},
             {"fences", fences},
             {"acknowledged", acknowledged}};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  start(&argc, &argv);
  void** base = allocate(kBytes);
  target = ranks - 1;
  there = base[target];
  here = ARMCI_Malloc_local(kBytes);
  memset(here, 5, kBytes);
  int known = 0;
  for (size_t i = 0; i < sizeof kActs / sizeof kActs[0]; ++i) {
    if (strcmp(kActs[i].name, argv[1]) != 0) continue;
    known = 1;
    if (me == 0) kActs[i].act();
  }
  CHECK(known);
  ARMCI_Barrier();
  if (me == target && strstr(argv[1], "gets") == NULL) CHECK_EQUAL(((char*)base[me])[0], 5);
  CHECK_EQUAL(ARMCI_Free_local(here), 0);
  release(base);
  finish();
  return 0;
}
