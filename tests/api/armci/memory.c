/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what is allocated is zero, reachable and given back; parts of different and of no size; errors of the caller.
 */
#include "support.h"

static void sizes(void) {
  for (int turn = 0; turn < 4; ++turn) {
    void** base = allocate(turn == 3 ? 0 : 1000L * ((me + turn) % 3)); /* some, or all, ask for nothing */
    for (int rank = 0; rank < ranks; ++rank) {
      const long bytes = turn == 3 ? 0 : 1000L * ((rank + turn) % 3);
      CHECK((base[rank] == NULL) == (bytes == 0));
      char buffer[2000], zero[2000] = {0};
      if (bytes > 0) CHECK_EQUAL(ARMCI_Get(base[rank], buffer, (int)bytes, rank), 0);
      if (bytes > 0) CHECK_EQUAL(memcmp(buffer, zero, (size_t)bytes), 0);
    }
    ARMCI_Barrier();
    if (base[me] != NULL) memset(base[me], 0xff, 1000); /* the next allocation is zero all the same */
    release(base);
  }
}

/* Several nodes without an adapter that executes atomics: all ranks are refused. */
static void network_domain(void) {
  void* base[64];
  long old = -1;
  if (ARMCI_Malloc_memdev(base, sizeof(long), "network") != 0) return;
  CHECK_EQUAL(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, base[0], 1, 0), 0);
  CHECK(old >= 0 && old < ranks);
  ARMCI_Barrier();
  if (me == 0) CHECK_EQUAL(*(long*)base[0], ranks);
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_Free(base[me]), 0);
}

static void device_forms(void) {
  void* base[64];
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  CHECK_EQUAL(ARMCI_Malloc_memdev(base, 100, "dram"), 0);
  CHECK_EQUAL(ARMCI_PutValueInt(me, base[next_rank()], next_rank()), 0);
  ARMCI_Barrier();
  CHECK_EQUAL(*(int*)base[me], previous_rank());
  CHECK_EQUAL(ARMCI_Free_memdev(base[me]), 0);
  CHECK_EQUAL(ARMCI_Malloc_group_memdev(base, 100, &world, NULL), 0);
  CHECK_EQUAL(ARMCI_Free_group(base[me], &world), 0);
  CHECK_EQUAL(ARMCI_Uses_shm(), 1);
  CHECK_EQUAL(ARMCI_Uses_shm_grp(&world), 1);
  ARMCI_Set_shm_limit(1 << 20);
}

/* Every rank offers memory by itself; the others are told by a message, write to it and read it. */
static void offered(void) {
  armci_meminfo_t info, theirs;
  ARMCI_Memget(256, &info, 0);
  CHECK(info.armci_addr != NULL);
  CHECK_EQUAL(info.cpid, me);
  for (int rank = 0; rank < ranks; ++rank) {
    theirs = info;
    armci_msg_bcast(&theirs, sizeof theirs, rank);
    long* const at = ARMCI_Memat(&theirs, 8 * me);
    CHECK_EQUAL(ARMCI_PutValueLong(1000 * rank + me, at, rank), 0);
    CHECK_EQUAL(ARMCI_GetValueLong(at, rank), 1000 * rank + me);
    ARMCI_Memdt(&theirs, 8 * me);
    ARMCI_Barrier();       /* nobody uses it any more */
    ARMCI_Memctl(&theirs); /* only the creator's call gives it back */
    if (rank == me) ARMCI_Memget(256, &info, 0);
    ARMCI_Barrier();
  }
  ARMCI_Memctl(&info);
  ARMCI_Barrier();
}

static void nothing_offered(void) {
  armci_meminfo_t info[3];
  for (int i = 0; i < 3; ++i) {
    ARMCI_Memget(0, &info[i], 0);
    CHECK(info[i].armci_addr == NULL && info[i].size == 0);
  }
  for (int i = 0; i < 3; ++i) ARMCI_Memctl(&info[i]);
}

static void local_buffers(void) {
  char* const buffer = ARMCI_Malloc_local(1000);
  CHECK(buffer != NULL);
  memset(buffer, 1, 1000);
  CHECK_EQUAL(ARMCI_Free_local(buffer), 0);
  CHECK(ARMCI_Free_local(buffer) != 0);
  CHECK(ARMCI_Free_local(&me) != 0);
  CHECK(ARMCI_Malloc_local(-1) == NULL);
}

static void mistakes(void) {
  void* base[64];
  CHECK(ARMCI_Malloc(base, me == 0 ? -1 : 100) != 0); /* refused in all ranks, though one is wrong */
  CHECK(ARMCI_Malloc(base, 1L << 50) != 0);
  CHECK_EQUAL(ARMCI_Malloc(base, 100), 0);
  CHECK(ARMCI_Free((char*)base[me] + 8) != 0);
  CHECK_EQUAL(ARMCI_Free(base[me]), 0);
  CHECK(ARMCI_Free(base[me]) != 0);
  CHECK(ARMCI_Free(&me) != 0);
  CHECK(ARMCI_Malloc_group(base, 100, NULL) != 0);
}

/* Rank 0 writes to memory that the last rank has given back meanwhile, and its server refuses it:
 * the answer is 1 where the caller's write was. On one node none is. */
static int write_to_freed_memory(void) {
  const int owner = ranks - 1, refused = me == 0 && !ARMCI_Same_node(owner);
  armci_meminfo_t info;
  armci_hdl_t handle;
  long value = 5;
  if (me == owner) ARMCI_Memget(64, &info, 0);
  armci_msg_bcast(&info, sizeof info, owner);
  ARMCI_INIT_HANDLE(&handle);
  ARMCI_SET_AGGREGATE_HANDLE(&handle);
  if (refused) CHECK_EQUAL(ARMCI_NbPut(&value, info.armci_addr, sizeof value, owner, &handle), 0);
  armci_msg_barrier();
  if (me == owner) ARMCI_Memctl(&info);
  armci_msg_barrier();
  CHECK_EQUAL(ARMCI_Wait(&handle), 0);
  return refused;
}

/* A collective call takes place in all ranks although one of them learns in it that a write of its was refused. */
static void after_refused_writes(void) {
  void* base[64];
  write_to_freed_memory();
  CHECK_EQUAL(ARMCI_Malloc(base, 64), 0);
  CHECK_EQUAL(ARMCI_PutValueInt(me + 1, base[next_rank()], next_rank()), 0);
  ARMCI_Barrier();
  CHECK_EQUAL(*(int*)base[me], previous_rank() + 1);
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  int told = write_to_freed_memory() ? FAIL6 : 0;
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), told);
  CHECK_EQUAL(ARMCI_Create_mutexes(1), 0);
  CHECK_EQUAL(ARMCI_Destroy_mutexes(), 0);
  told = write_to_freed_memory() ? FAIL6 : 0;
  CHECK_EQUAL(ARMCI_Free(base[me]), told);
  CHECK(ARMCI_Free(base[me]) == FAIL);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  sizes();
  device_forms();
  network_domain();
  offered();
  nothing_offered();
  local_buffers();
  mistakes();
  after_refused_writes();
  finish();
  return 0;
}
