// MPI_WIN_GET_ATTR of Fortran, whose wrappers in the host look into the object without any call of ours.
//
// All other Fortran calls come through C. A keyval that is not predefined, and a window that is not ours, go to the
// next function of the same name. In Fortran each attribute is a number of the size of an address.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <mpi.h>

#include "api/mpi/handles.hpp"
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

MPI_Aint as_number(const Taken& taken, int keyval) {
  if (keyval == MPI_WIN_BASE) return reinterpret_cast<MPI_Aint>(taken.base);
  if (keyval == MPI_WIN_SIZE) return taken.bytes;
  if (keyval == MPI_WIN_DISP_UNIT) return taken.unit;
  if (keyval == MPI_WIN_CREATE_FLAVOR) return taken.flavor;
  return taken.model;
}

void get_attr(const char* name, const MPI_Fint* win, const MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* flag,
              MPI_Fint* error) {
  const Taken* const taken = is_predefined_attribute(in_c(*keyval)) ? find(PMPI_Win_f2c(*win)) : nullptr;
  if (taken == nullptr) return reinterpret_cast<Wrapper*>(dlsym(RTLD_NEXT, name))(win, keyval, value, flag, error);
  *value = as_number(*taken, in_c(*keyval));
  *flag = 1;  // .TRUE. of every Fortran compiler that the hosts of this build know
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
