// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <dirent.h>

int me, ranks;

void check_(int holds, const char* what, const char* file, int line) {
  if (holds) return;
  fprintf(stderr, "FAILED rank %d: %s:%d: %s\n", me, file, line, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void check_equal_(long found, long wanted, const char* what, const char* file, int line) {
  if (found == wanted) return;
  fprintf(stderr, "FAILED rank %d: %s:%d: %s is %ld, not %ld\n", me, file, line, what, found, wanted);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK_EQUAL(ARMCI_Init(), 0);
}

void finish(void) {
  const int nodes = armci_domain_count(ARMCI_DOMAIN_SMP);
  ARMCI_Barrier();
  CHECK_EQUAL(ARMCI_Finalize(), 0);
  CHECK_EQUAL(ARMCI_Initialized(), 0);
  if (me == 0) printf("passed: %d ranks, %d nodes\n", ranks, nodes);
  MPI_Finalize();
}

void** allocate(long bytes) {
  void** const base = malloc((size_t)ranks * sizeof *base);
  CHECK_EQUAL(ARMCI_Malloc(base, bytes), 0);
  return base;
}

void release(void** base) {
  CHECK_EQUAL(ARMCI_Free(base[me]), 0);
  free(base);
}

int entries_of(const char* folder) {
  int found = 0;
  DIR* const open_folder = opendir(folder);
  CHECK(open_folder != NULL);
  while (readdir(open_folder) != NULL) ++found;
  closedir(open_folder);
  return found;
}

int connections_to_come(void) { return 2 * (armci_domain_count(ARMCI_DOMAIN_SMP) - 1); }

static FILE* open_or_fail(const char* path) {
  FILE* const file = fopen(path, "r");
  CHECK(file != NULL);
  return file;
}

int lines_with(const char* path, const char* text) {
  char line[4096];
  int found = 0;
  FILE* const file = open_or_fail(path);
  while (fgets(line, sizeof line, file) != NULL) found += strstr(line, text) != NULL;
  fclose(file);
  return found;
}

long memory_kib(const char* path, const char* name) {
  char line[4096];
  long sum = 0;
  FILE* const file = open_or_fail(path);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) sum += atol(line + strlen(name));
  }
  fclose(file);
  return sum;
}

int next_rank(void) { return (me + 1) % ranks; }
int previous_rank(void) { return (me + ranks - 1) % ranks; }
