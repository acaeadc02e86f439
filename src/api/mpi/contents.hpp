// How a derived datatype was made: MPI's envelope and contents, with counts of any size.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace grapnel::front {

/// In the order of MPI_Type_get_contents, whatever call made the type: what a call with large counts keeps as counts is
/// here where the call without has it.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers, addresses;
  std::vector<MPI_Datatype> types;  ///< derived ones are freed with this

  Contents() = default;
  Contents(Contents&& other) noexcept = default;
  Contents& operator=(Contents&&) = delete;
  ~Contents();

  /// `combiner` stays MPI_COMBINER_NAMED for a named type, and where the host fails.
  static Contents of(MPI_Datatype type);
};

/// Whether a handle from get_contents is the caller's to free.
bool is_named(MPI_Datatype type);

}  // namespace grapnel::front
