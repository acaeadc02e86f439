/* Begins MPI, then computes for S seconds and calls nothing. Linked with the host's library alone.
 *
 * usage: unlinked S
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  sleep((unsigned)atoi(argv[1]));
  MPI_Finalize();
  return 0;
}
