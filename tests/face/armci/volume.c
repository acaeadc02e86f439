/* Much of everything, and nothing left: descriptors and memory are counted before and after.
 * Arguments: how many allocations, groups, outstanding handles. */
#include <dirent.h>

#include "support.h"

static int descriptors(void) {
  int found = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++found;
  closedir(folder);
  return found;
}

/* Memory of this process alone, in KiB. */
static long private_kib(void) {
  char line[256];
  long kib = 0, found;
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Dirty: %ld", &found) == 1) kib += found;
  }
  fclose(file);
  return kib;
}

static void allocations(int count) {
  void* base[64];
  int fds = 0;
  long kib = 0;
  for (int turn = 0; turn < count; ++turn) {
    if (turn == count / 10) fds = descriptors(), kib = private_kib();
    CHECK_EQUAL(ARMCI_Malloc(base, 4096), 0);
    *(int*)base[me] = turn;
    CHECK_EQUAL(ARMCI_Free(base[me]), 0);
  }
  CHECK_EQUAL(descriptors(), fds);
  CHECK(private_kib() < kib + 4096);
}

/* All at once, then all freed, then once more: the second time takes nothing new. */
static void groups(int count) {
  ARMCI_Group* const made = malloc((size_t)count * sizeof *made);
  int members[64], fds = 0;
  for (int rank = 0; rank < ranks; ++rank) members[rank] = rank;
  long kib = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) ARMCI_Group_create(ranks, members, &made[i]);
    for (int i = 0; i < count; ++i) ARMCI_Group_free(&made[i]);
    if (round == 0) fds = descriptors(), kib = private_kib();
  }
  CHECK_EQUAL(descriptors(), fds);
  CHECK(private_kib() < kib + 8192);
  free(made);
}

static void handles(int count) {
  const int target = next_rank();
  armci_hdl_t* const started = calloc((size_t)count, sizeof *started);
  long* const in = calloc((size_t)count, sizeof *in);
  void** base = allocate((long)count * (long)sizeof(long));
  for (int i = 0; i < count; ++i) ((long*)base[me])[i] = me + i;
  ARMCI_Barrier();
  long kib = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) {
      CHECK_EQUAL(ARMCI_NbGet((long*)base[target] + i, &in[i], sizeof(long), target, &started[i]), 0);
    }
    for (int i = count - 1; i >= 0; --i) CHECK_EQUAL(ARMCI_Wait(&started[i]), 0);
    for (int i = 0; i < count; ++i) CHECK_EQUAL(in[i], target + i);
    if (round == 0) kib = private_kib();
  }
  CHECK(private_kib() < kib + 8192);
  ARMCI_Barrier();
  release(base);
  free(in);
  free(started);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int counts[] = {atoi(argv[1]), atoi(argv[2]), atoi(argv[3])};
  start(&argc, &argv);
  allocations(counts[0]);
  groups(counts[1]);
  handles(counts[2]);
  finish();
  return 0;
}
