/* SPDX-License-Identifier: Apache-2.0 */
/* One segment of many MiB (the argument), beyond 4 GiB where it is large enough: reached at its beginning, at its end,
 * and across 4 GiB; then more than the machine has, which is refused in words while the job goes on. Memory, mappings
 * and descriptors are as before in the end. */
#include <unistd.h>

#include "support.h"

static long mib;

static char* at(void** base, long offset) { return (char*)base[0] + offset; }

/* Every rank writes a mark of its own around `offset` of rank 0's segment, and reads all. */
static void mark_around(void** base, long offset) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == me) CHECK_EQUAL(ARMCI_PutValueLong(offset + rank, at(base, offset + 8 * rank), 0), 0);
  }
  ARMCI_Barrier();
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_EQUAL(ARMCI_GetValueLong(at(base, offset + 8 * rank), 0), offset + rank);
  }
}

/* Rows far apart, and one row that is larger than any message. */
static void move_much(void** base, long bytes) {
  const int apart = (int)(bytes / 4 < (1 << 30) ? bytes / 4 : 1 << 30);
  long rows[4] = {me + 1, me + 2, me + 3, me + 4}, found[4] = {0};
  int counts[] = {8, 4}, packed[] = {8}, spread[] = {apart};
  CHECK_EQUAL(ARMCI_PutS(rows, packed, at(base, 4096 + 8 * me), spread, counts, 1, 0), 0);
  CHECK_EQUAL(ARMCI_GetS(at(base, 4096 + 8 * me), spread, found, packed, counts, 1, 0), 0);
  CHECK_EQUAL(memcmp(rows, found, sizeof rows), 0);
  ARMCI_Barrier();
  enum { much = 24 << 20 };
  static char row[much]; /* not malloc's, which keeps such blocks */
  memset(row, 7 + me, much);
  if (me == ranks - 1) {
    CHECK_EQUAL(ARMCI_Put(row, at(base, bytes - much), much, 0), 0);
    memset(row, 0, (size_t)much);
    CHECK_EQUAL(ARMCI_Get(at(base, bytes - much), row, much, 0), 0);
    for (int i = 0; i < much; i += 997) CHECK_EQUAL(row[i], 7 + me);
  }
  ARMCI_Barrier();
}

/* Twice the memory of the machine; and what is available and a little more. Neither takes anything. */
static void ask_for_too_much(void) {
  void* base[64];
  const long all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  CHECK_EQUAL(ARMCI_Malloc(base, me == 0 ? 2 * all : 0), FAIL2);
  const long before = memory_kib("/proc/meminfo", "MemAvailable:");
  CHECK_EQUAL(ARMCI_Malloc(base, me == 0 ? (before << 10) + (1L << 30) : 8), FAIL2);
  CHECK_EQUAL(ARMCI_Malloc(base, 4096), 0);
  CHECK_EQUAL(ARMCI_PutValueInt(me, base[next_rank()], next_rank()), 0);
  ARMCI_Barrier();
  CHECK_EQUAL(*(int*)base[me], previous_rank());
  CHECK_EQUAL(ARMCI_Free(base[me]), 0);
}

int main(int argc, char** argv) {
  if (argc < 2 || (mib = atol(argv[1])) < 64) return 2;
  start(&argc, &argv);
  const long bytes = mib << 20;
  int files = 0;
  long kib = 0;
  for (int turn = 0; turn < 2; ++turn) {
    void** base = allocate(me == 0 ? bytes : 0);
    mark_around(base, 0);
    mark_around(base, bytes / 2 - 8);
    mark_around(base, bytes - 8L * ranks);
    move_much(base, bytes);
    const double began = armci_timer();
    release(base);
    if (me == 0) printf("%ld MiB given back in %.3f s\n", mib, armci_timer() - began);
    ask_for_too_much();
    if (turn > 0) continue; /* what the first of all takes once is no loss */
    files = entries_of("/proc/self/fd");
    kib = memory_kib("/proc/self/smaps_rollup", "Private_Dirty:");
  }
  CHECK(entries_of("/proc/self/fd") <= files + connections_to_come());
  CHECK(memory_kib("/proc/self/smaps_rollup", "Private_Dirty:") < kib + 8192);
  finish();
  return 0;
}
