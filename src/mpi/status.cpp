// SPDX-License-Identifier: Apache-2.0
#include "mpi/status.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "base/check.hpp"

namespace grapnel::mpi {

Status status_of(int code) {
  if (code == MPI_SUCCESS) [[likely]]
    return {};
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS)
    return {Code::system, fmt::format("MPI's error: code {}", code)};
  return {Code::system, fmt::format("MPI's error: {}", text)};
}

Status failure(const char* what, int code) {
  GRAPNEL_ASSERT(code != MPI_SUCCESS, "{} has not failed", what);
  return {Code::system, fmt::format("{}: {}", what, status_of(code).message())};
}

}  // namespace grapnel::mpi
