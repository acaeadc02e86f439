/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

int me, ranks, mistakes;

void begin(int* argc, char*** argv, int level) {
  int provided = 0;
  if (level == MPI_THREAD_SINGLE) {
    MPI_Init(argc, argv);
  } else {
    MPI_Init_thread(argc, argv, level, &provided);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

int finish(void) {
  int all = 0;
  MPI_Allreduce(&mistakes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0 && all == 0) printf("passed: %d ranks, all\n", ranks);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

int class_of(int code) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  return error_class;
}
