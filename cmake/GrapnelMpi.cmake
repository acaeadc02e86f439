# The MPI that the build is for, as one target: grapnel_mpi_library (headers, library, no C++ bindings), absent with
# GRAPNEL_MPI=none.
#
# libgrapnel never links it; front ends over MPI do, through the layer mpi. Several MPIs may be installed side by
# side: the compiler wrapper says which one is meant (mpicc.openmpi, mpicc.mpich where the system names them so, else a
# plain mpicc, which must be of the wanted family). GRAPNEL_MPI_LAUNCHER is the program that starts its jobs in tests.
# SPDX-License-Identifier: Apache-2.0
set(GRAPNEL_MPI openmpi CACHE STRING "The MPI that front ends are built for: openmpi, mpich or none")
set_property(CACHE GRAPNEL_MPI PROPERTY STRINGS openmpi mpich none)

# FindMPI keeps what it found in the cache: a folder belongs to one MPI.
if(DEFINED GRAPNEL_MPI_OF_FOLDER AND NOT GRAPNEL_MPI_OF_FOLDER STREQUAL GRAPNEL_MPI)
  message(FATAL_ERROR "this build folder belongs to GRAPNEL_MPI=${GRAPNEL_MPI_OF_FOLDER}; take another one for ${GRAPNEL_MPI}")
endif()
set(GRAPNEL_MPI_OF_FOLDER ${GRAPNEL_MPI} CACHE INTERNAL "the MPI of this build folder")

if(GRAPNEL_MPI STREQUAL "openmpi")
  set(family_macro OPEN_MPI)
elseif(GRAPNEL_MPI STREQUAL "mpich")
  set(family_macro MPICH_VERSION)
elseif(NOT GRAPNEL_MPI STREQUAL "none")
  message(FATAL_ERROR "GRAPNEL_MPI=${GRAPNEL_MPI}: openmpi, mpich or none")
endif()

if(NOT GRAPNEL_MPI STREQUAL "none")
  find_program(MPI_C_COMPILER NAMES mpicc.${GRAPNEL_MPI} mpicc REQUIRED)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI REQUIRED COMPONENTS C)

  include(CheckCXXSymbolExists)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
  check_cxx_symbol_exists(${family_macro} mpi.h GRAPNEL_MPI_IS_OF_FAMILY)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  if(NOT GRAPNEL_MPI_IS_OF_FAMILY)
    message(FATAL_ERROR "${MPI_C_COMPILER} is not of ${GRAPNEL_MPI}: set MPI_C_COMPILER to its compiler wrapper")
  endif()

  add_library(grapnel_mpi_library INTERFACE)
  target_link_libraries(grapnel_mpi_library INTERFACE MPI::MPI_C)
  target_compile_definitions(grapnel_mpi_library INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

  get_filename_component(mpi_folder ${MPI_C_COMPILER} DIRECTORY)
  find_program(GRAPNEL_MPI_LAUNCHER
    NAMES mpiexec.${GRAPNEL_MPI} mpirun.${GRAPNEL_MPI} mpiexec mpirun HINTS ${mpi_folder}
    DOC "what starts the MPI jobs of the tests")
endif()
