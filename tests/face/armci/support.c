#include "support.h"

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

int next_rank(void) { return (me + 1) % ranks; }
int previous_rank(void) { return (me + ranks - 1) % ranks; }
