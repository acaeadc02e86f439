// How a call of the ARMCI interface is defined: once, under its PARMCI_ name, with the ARMCI_ name as its weak twin.
//
//   ARMCI_DEFINE(int, Put, (void* source, …)) { … }      defines PARMCI_Put; ARMCI_Put is a weak alias of it
//
// A program or a tool that defines ARMCI_Put itself takes the place of the alias. The library calls neither name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// C++ bindings of MPI are not used; without these, some mpi.h bring a library of their own in.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include "armci.h"

#define ARMCI_DEFINE_PAIR(result, name, twin, parameters)             \
  extern "C" __attribute__((weak, alias(#twin))) decltype(twin) name; \
  extern "C" result twin parameters

#define ARMCI_DEFINE(result, name, parameters) ARMCI_DEFINE_PAIR(result, ARMCI_##name, PARMCI_##name, parameters)
#define ARMCI_DEFINE_LOWER(result, name, parameters) ARMCI_DEFINE_PAIR(result, armci_##name, parmci_##name, parameters)
