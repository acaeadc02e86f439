/* SPDX-License-Identifier: Apache-2.0 */
/* Much of everything, and nothing left: descriptors, threads, mappings and memory are counted before and after.
 * Arguments: how many allocations, groups, outstanding handles. */
#include "support.h"

struct counts {
  int descriptors, threads, mappings;
  long kib;
};

static struct counts taken(void) {
  const struct counts now = {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
                             lines_with("/proc/self/maps", "-"),
                             memory_kib("/proc/self/smaps_rollup", "Private_Dirty:")};
  return now;
}

/* Some room for MPI's own tables, and for connections: however many groups there are, no more of them. */
static void check_nothing_more(const char* what, struct counts before, long room_kib) {
  const struct counts now = taken();
  if (me == 0) {
    printf("%s: descriptors %d, %d; threads %d, %d; mappings %d, %d; memory %ld, %ld KiB\n", what, before.descriptors,
           now.descriptors, before.threads, now.threads, before.mappings, now.mappings, before.kib, now.kib);
  }
  CHECK(now.descriptors <= before.descriptors + connections_to_come());
  CHECK_EQUAL(now.threads, before.threads);
  CHECK(now.mappings <= before.mappings + 8);
  CHECK(now.kib < before.kib + room_kib);
}

/* MPI connects two ranks when the first message goes between them, and again where both began. */
static void connect_all(void) {
  int to[64] = {0}, from[64];
  for (int round = 0; round < 3; ++round) {
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void allocations(int count) {
  void* base[64];
  struct counts before = {0};
  for (int turn = 0; turn < count; ++turn) {
    if (turn == count / 10) before = taken();
    CHECK_EQUAL(ARMCI_Malloc(base, 4096), 0);
    *(int*)base[me] = turn;
    CHECK_EQUAL(ARMCI_Free(base[me]), 0);
  }
  check_nothing_more("allocations", before, 4096);
}

/* All at once, each used, then all freed, then once more: the second time takes nothing new. Sets of members come again
 * and again, in two orders. */
static void groups(int count) {
  ARMCI_Group* const made = malloc((size_t)count * sizeof *made);
  int members[64];
  struct counts before = {0};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      const int size = me < 2 && i % 3 == 0 ? 2 : ranks; /* of the first two ranks alone, or of all */
      for (int rank = 0; rank < size; ++rank) members[rank] = i % 2 ? size - 1 - rank : rank;
      if (i % 3 != 0 || me < 2) ARMCI_Group_create(size, members, &made[i]);
    }
    for (int i = 0; i < count; ++i) {
      if (i % 3 == 0 && me >= 2) continue;
      armci_msg_group_barrier(&made[i]);
      ARMCI_Group_free(&made[i]);
    }
    if (round == 0) before = taken();
  }
  check_nothing_more("groups", before, 8192);
  free(made);
}

static void handles(int count) {
  const int target = next_rank();
  armci_hdl_t* const started = calloc((size_t)count, sizeof *started);
  long* const in = calloc((size_t)count, sizeof *in);
  void** base = allocate((long)count * (long)sizeof(long));
  for (int i = 0; i < count; ++i) ((long*)base[me])[i] = me + i;
  ARMCI_Barrier();
  struct counts before = {0};
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      CHECK_EQUAL(ARMCI_NbGet((long*)base[target] + i, &in[i], sizeof(long), target, &started[i]), 0);
    }
    for (int i = count - 1; i >= 0; --i) CHECK_EQUAL(ARMCI_Wait(&started[i]), 0);
    for (int i = 0; i < count; ++i) CHECK_EQUAL(in[i], target + i);
    if (round == 0) before = taken();
  }
  check_nothing_more("handles", before, 8192);
  ARMCI_Barrier();
  release(base);
  free(in);
  free(started);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int counts[] = {atoi(argv[1]), atoi(argv[2]), atoi(argv[3])};
  start(&argc, &argv);
  connect_all();
  allocations(counts[0]);
  groups(counts[1]);
  handles(counts[2]);
  finish();
  return 0;
}
