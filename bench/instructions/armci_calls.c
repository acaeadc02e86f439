/* The same for ARMCI: one process, which MPI starts as a job of its own.
 *
 * usage: instruction_armci_calls NAME COUNT
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci.h"

static void put(double* value, double* remote, long count) {
  for (long i = 0; i < count; ++i) ARMCI_Put(value, remote, 8, 0);
}

static void get(double* value, double* remote, long count) {
  for (long i = 0; i < count; ++i) ARMCI_Get(remote, value, 8, 0);
}

static void put_and_wait(double* value, double* remote, long count) {
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  for (long i = 0; i < count; ++i) {
    ARMCI_NbPut(value, remote, 8, 0, &handle);
    ARMCI_Wait(&handle);
  }
}

static const struct {
  const char* name;
  void (*repeat)(double* value, double* remote, long count);
} kCalls[] = {{"ARMCI_Put/8B", put}, {"ARMCI_Get/8B", get}, {"ARMCI_NbPut,Wait/8B", put_and_wait}};

static void run(unsigned number, long count) {
  void* memory[1];
  double value = 1;
  if (ARMCI_Malloc(memory, 64) != 0) exit(1);
  kCalls[number].repeat(&value, memory[0], count);
  ARMCI_Free(memory[0]);
}

int main(int argc, char** argv) {
  const unsigned all = sizeof kCalls / sizeof kCalls[0];
  if (argc != 3) {
    for (unsigned i = 0; i < all; ++i) puts(kCalls[i].name);
    return argc == 1 ? 0 : 2;
  }
  unsigned number = 0;
  while (number < all && strcmp(kCalls[number].name, argv[1]) != 0) ++number;
  if (number == all) return 2;
  MPI_Init(&argc, &argv);
  if (ARMCI_Init() != 0) return 1;
  run(number, atol(argv[2]));
  ARMCI_Finalize();
  MPI_Finalize();
  return 0;
}
