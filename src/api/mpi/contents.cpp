// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/contents.hpp"

#include <algorithm>
#include <cstddef>

namespace grapnel::front {
namespace {

#if MPI_VERSION >= 4
using Wide = MPI_Count;

/// How many of `counts` the call without large counts has among its numbers; it has the others among its addresses.
std::ptrdiff_t counts_among_numbers(int combiner, const std::vector<Wide>& counts) {
  switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED_BLOCK: return 2;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT: return 1 + static_cast<std::ptrdiff_t>(counts.front());
    case MPI_COMBINER_RESIZED: return 0;
    default: return static_cast<std::ptrdiff_t>(counts.size());
  }
}

/// How many numbers precede the counts.
std::ptrdiff_t numbers_before_counts(int combiner) {
  if (combiner == MPI_COMBINER_SUBARRAY) return 1;
  return combiner == MPI_COMBINER_DARRAY ? 3 : 0;
}

void take_counts(Contents& contents, const std::vector<Wide>& counts) {
  if (counts.empty()) return;
  const auto split = counts.begin() + counts_among_numbers(contents.combiner, counts);
  contents.numbers.insert(contents.numbers.begin() + numbers_before_counts(contents.combiner), counts.begin(), split);
  contents.addresses.insert(contents.addresses.end(), split, counts.end());
}

bool read_contents(MPI_Datatype type, Contents& contents) {
  Wide numbers = 0, addresses = 0, large = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
  if (PMPI_Type_get_envelope_c(type, &numbers, &addresses, &large, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_NAMED) return false;
  std::vector<int> ints(static_cast<std::size_t>(numbers) + 1);
  std::vector<MPI_Aint> aints(static_cast<std::size_t>(addresses) + 1);
  std::vector<Wide> counts(static_cast<std::size_t>(large) + 1);
  contents.types.resize(static_cast<std::size_t>(types));
  if (PMPI_Type_get_contents_c(type, numbers, addresses, large, types, ints.data(), aints.data(), counts.data(),
                               contents.types.data()) != MPI_SUCCESS) {
    contents.types.clear();
    return false;
  }
  counts.pop_back();
  contents.combiner = combiner;
  contents.numbers.assign(ints.begin(), ints.end() - 1);
  contents.addresses.assign(aints.begin(), aints.end() - 1);
  take_counts(contents, counts);
  return true;
}
#else
bool read_contents(MPI_Datatype type, Contents& contents) {
  int numbers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (PMPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner) != MPI_SUCCESS) return false;
  if (combiner == MPI_COMBINER_NAMED) return false;
  // One more of each: no array that MPI is given is empty.
  std::vector<int> ints(static_cast<std::size_t>(numbers) + 1);
  std::vector<MPI_Aint> aints(static_cast<std::size_t>(addresses) + 1);
  contents.types.resize(static_cast<std::size_t>(types));
  // The parameterised Fortran types have no type inside.
  if (types == 0) contents.types.resize(1);
  const int code =
      PMPI_Type_get_contents(type, numbers, addresses, types, ints.data(), aints.data(), contents.types.data());
  contents.types.resize(code == MPI_SUCCESS ? static_cast<std::size_t>(types) : 0);
  if (code != MPI_SUCCESS) return false;
  contents.combiner = combiner;
  contents.numbers.assign(ints.begin(), ints.end() - 1);
  contents.addresses.assign(aints.begin(), aints.end() - 1);
  return true;
}
#endif

}  // namespace

bool is_named(MPI_Datatype type) {
  int numbers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  // The call without large counts refuses types that have them: they are not named.
  MPI_Count wide_numbers = 0, wide_addresses = 0, large = 0, wide_types = 0;
  PMPI_Type_get_envelope_c(type, &wide_numbers, &wide_addresses, &large, &wide_types, &combiner);
  static_cast<void>(numbers + addresses + types);
#else
  PMPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner);
#endif
  switch (combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER: return true;
    default: return false;
  }
}

Contents Contents::of(MPI_Datatype type) {
  Contents contents;
  read_contents(type, contents);
  return contents;
}

Contents::~Contents() {
  for (MPI_Datatype& type : types) {
    if (!is_named(type)) PMPI_Type_free(&type);
  }
}

}  // namespace grapnel::front
