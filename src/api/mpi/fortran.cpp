// MPI_WIN_GET_ATTR of Fortran, whose wrappers in the host read the object without a call of C.
//
// The wrappers of all other calls call C. A keyval that is not predefined, and a window of the host, pass to the next
// function of the same name. In Fortran each attribute is a number of the size of an address.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <mpi.h>

#include "api/mpi/job.hpp"
#include "api/mpi/predefined_attributes.hpp"
#include "grapnel/export.hpp"

namespace grapnel::front {
namespace {

using Wrapper = void(const MPI_Fint*, const MPI_Fint*, MPI_Aint*, MPI_Fint*, MPI_Fint*);

/// MPICH's predefined keyvals are odd in C, and the next number in Fortran.
int in_c(MPI_Fint keyval) {
#ifdef MPICH_VERSION
  return static_cast<int>(static_cast<unsigned>(keyval) - 1u);
#else
  return keyval;
#endif
}

MPI_Aint as_number(Taken& taken, int keyval) {
  void* const value = predefined_attribute(taken, keyval);
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(value);
  return keyval == MPI_WIN_SIZE ? *static_cast<MPI_Aint*>(value) : *static_cast<int*>(value);
}

void get_attr(const char* name, const MPI_Fint* win, const MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag,
              MPI_Fint* error) {
  Taken* const taken = is_predefined_attribute(in_c(*keyval)) ? find(PMPI_Win_f2c(*win)) : nullptr;
  if (taken == nullptr) return reinterpret_cast<Wrapper*>(dlsym(RTLD_NEXT, name))(win, keyval, value, flag, error);
  *value = as_number(*taken, in_c(*keyval));
  *flag = 1;  // .TRUE. of gfortran, by which Debian builds both hosts
  if (error != nullptr) *error = MPI_SUCCESS;
}

}  // namespace
}  // namespace grapnel::front

#define GRAPNEL_WRAPPER(name)                                                                                    \
  extern "C" GRAPNEL_API void name(const MPI_Fint* win, const MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag, \
                                   MPI_Fint* error) {                                                            \
    grapnel::front::get_attr(#name, win, keyval, value, flag, error);                                            \
  }

GRAPNEL_WRAPPER(mpi_win_get_attr)
GRAPNEL_WRAPPER(mpi_win_get_attr_)
GRAPNEL_WRAPPER(mpi_win_get_attr__)
GRAPNEL_WRAPPER(MPI_WIN_GET_ATTR)
GRAPNEL_WRAPPER(pmpi_win_get_attr)
GRAPNEL_WRAPPER(pmpi_win_get_attr_)
GRAPNEL_WRAPPER(pmpi_win_get_attr__)
GRAPNEL_WRAPPER(PMPI_WIN_GET_ATTR)
GRAPNEL_WRAPPER(mpi_win_get_attr_f08_)
#ifdef OPEN_MPI
GRAPNEL_WRAPPER(MPI_Win_get_attr_f)
GRAPNEL_WRAPPER(PMPI_Win_get_attr_f)
GRAPNEL_WRAPPER(MPI_Win_get_attr_f08)
GRAPNEL_WRAPPER(PMPI_Win_get_attr_f08)
GRAPNEL_WRAPPER(pmpi_win_get_attr_f08_)
GRAPNEL_WRAPPER(ompi_win_get_attr_f)
#else
GRAPNEL_WRAPPER(pmpir_win_get_attr_f08_)
#endif
