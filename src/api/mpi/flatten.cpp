// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/flatten.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/mpi/contents.hpp"
#include "api/mpi/types.hpp"

namespace grapnel::front {
namespace {

using window::Layout;
using window::LayoutPointer;
using Parts = std::vector<Layout::Part>;

/// `count` copies in a row, each `extent` of the child's behind the one before it.
LayoutPointer block_of(const LayoutPointer& child, std::int64_t count) {
  return Layout::repeat(child, count, child->extent());
}

/// A run of a grid's dimension: `length` of `child`, from `start` on, in steps of `step` bytes.
LayoutPointer run_of(const LayoutPointer& child, std::int64_t start, std::int64_t length, std::int64_t step) {
  return Layout::sequence({{start * step, Layout::repeat(child, length, step)}});
}

/// The numbers of a call, from the front.
class Reader {
 public:
  explicit Reader(const std::vector<std::int64_t>& numbers) : at_(numbers.data()) {}
  std::int64_t next() { return *at_++; }
  const std::int64_t* next(std::int64_t count) { return std::exchange(at_, at_ + count); }

 private:
  const std::int64_t* at_;
};

LayoutPointer of_vector(const Contents& contents, const LayoutPointer& child) {
  const std::int64_t count = contents.numbers[0], length = contents.numbers[1];
  std::int64_t stride = 0;
  if (contents.combiner == MPI_COMBINER_VECTOR) {
    stride = contents.numbers[2] * child->extent();
  } else {
    stride = contents.addresses[0];
  }
  return Layout::repeat(block_of(child, length), count, stride);
}

/// indexed, indexed_block and their forms in bytes.
LayoutPointer of_indexed(const Contents& contents, const LayoutPointer& child) {
  Reader numbers(contents.numbers);
  const std::int64_t count = numbers.next();
  const bool in_elements = contents.combiner == MPI_COMBINER_INDEXED || contents.combiner == MPI_COMBINER_INDEXED_BLOCK;
  const bool blocks =
      contents.combiner == MPI_COMBINER_INDEXED_BLOCK || contents.combiner == MPI_COMBINER_HINDEXED_BLOCK;
  const std::int64_t* const lengths = numbers.next(blocks ? 1 : count);
  const std::int64_t* const places = in_elements ? numbers.next(count) : contents.addresses.data();
  const std::int64_t step = in_elements ? child->extent() : 1;
  Parts parts;
  parts.reserve(static_cast<std::size_t>(count));
  const LayoutPointer block = blocks ? block_of(child, lengths[0]) : nullptr;
  for (std::int64_t at = 0; at < count; ++at) {
    parts.push_back({places[at] * step, blocks ? block : block_of(child, lengths[at])});
  }
  return Layout::sequence(std::move(parts));
}

LayoutPointer of_structure(const Contents& contents) {
  Reader numbers(contents.numbers);
  const std::int64_t count = numbers.next();
  const std::int64_t* const lengths = numbers.next(count);
  const std::int64_t* const places = contents.addresses.data();
  Parts parts;
  LayoutPointer child;
  for (std::int64_t at = 0; at < count; ++at) {
    const auto place = static_cast<std::size_t>(at);
    if (at == 0 || contents.types[place] != contents.types[place - 1]) child = flattened(contents.types[place]);
    if (child == nullptr) return nullptr;
    parts.push_back({places[at], block_of(child, lengths[at])});
  }
  return Layout::sequence(std::move(parts));
}

/// The dimensions of a grid from the one whose neighbours lie next to each other outwards: `work(dimension, step)`.
template <typename Work>
void inside_out(std::int64_t dimensions, bool fortran, const std::int64_t* sizes, std::int64_t step, const Work& work) {
  for (std::int64_t done = 0; done < dimensions; ++done) {
    const std::int64_t dimension = fortran ? done : dimensions - 1 - done;
    work(dimension, step);
    step *= sizes[dimension];
  }
}

LayoutPointer of_subarray(const Contents& contents, LayoutPointer child) {
  Reader numbers(contents.numbers);
  const std::int64_t dimensions = numbers.next();
  const std::int64_t* const sizes = numbers.next(dimensions);
  const std::int64_t* const lengths = numbers.next(dimensions);
  const std::int64_t* const starts = numbers.next(dimensions);
  const bool fortran = numbers.next() == MPI_ORDER_FORTRAN;
  inside_out(dimensions, fortran, sizes, child->extent(), [&](std::int64_t dimension, std::int64_t step) {
    child = run_of(child, starts[dimension], lengths[dimension], step);
  });
  return child;
}

/// How one dimension of a distributed array lies on the processes along it.
struct Distribution {
  std::int64_t kind, argument, size, processes, place;

  LayoutPointer of(const LayoutPointer& child, std::int64_t step) const {
    if (kind == MPI_DISTRIBUTE_NONE) return run_of(child, 0, size, step);
    return kind == MPI_DISTRIBUTE_BLOCK ? block(child, step) : cyclic(child, step);
  }

 private:
  LayoutPointer block(const LayoutPointer& child, std::int64_t step) const {
    const std::int64_t length = argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
    const std::int64_t start = place * length;
    return run_of(child, start, std::clamp<std::int64_t>(size - start, 0, length), step);
  }
  LayoutPointer cyclic(const LayoutPointer& child, std::int64_t step) const {
    const std::int64_t length = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    const std::int64_t round = length * processes, start = place * length;
    const std::int64_t behind = std::max<std::int64_t>(size - start, 0);
    const std::int64_t whole = behind / round + (behind % round >= length ? 1 : 0);
    const std::int64_t rest = behind % round < length ? behind % round : 0;
    const LayoutPointer blocks = Layout::repeat(Layout::repeat(child, length, step), whole, round * step);
    return Layout::sequence(
        {{start * step, blocks}, {(start + whole * round) * step, Layout::repeat(child, rest, step)}});
  }
};

LayoutPointer of_distributed_array(const Contents& contents, LayoutPointer child) {
  Reader numbers(contents.numbers);
  numbers.next();  // the number of processes is the product of those of the dimensions
  std::int64_t rank = numbers.next();
  const std::int64_t dimensions = numbers.next();
  const std::int64_t* const sizes = numbers.next(dimensions);
  const std::int64_t* const kinds = numbers.next(dimensions);
  const std::int64_t* const arguments = numbers.next(dimensions);
  const std::int64_t* const processes = numbers.next(dimensions);
  const bool fortran = numbers.next() == MPI_ORDER_FORTRAN;
  // Ranks are in row-major order, whatever the array's is.
  std::vector<std::int64_t> places(static_cast<std::size_t>(dimensions));
  for (std::int64_t dimension = dimensions - 1; dimension >= 0; --dimension) {
    places[static_cast<std::size_t>(dimension)] = rank % processes[dimension];
    rank /= processes[dimension];
  }
  inside_out(dimensions, fortran, sizes, child->extent(), [&](std::int64_t dimension, std::int64_t step) {
    const Distribution distribution{kinds[dimension], arguments[dimension], sizes[dimension], processes[dimension],
                                    places[static_cast<std::size_t>(dimension)]};
    child = distribution.of(child, step);
  });
  return child;
}

/// Fortran's types by precision: what they are, by their size.
LayoutPointer of_fortran_number(int combiner, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  const auto number = [](NumberType is) { return Layout::element(is); };
  if (combiner == MPI_COMBINER_F90_REAL) {
    if (bytes == 4) return number(NumberType::float32);
    if (bytes == 8) return number(NumberType::float64);
  } else if (combiner == MPI_COMBINER_F90_COMPLEX) {
    if (bytes == 8) return number(NumberType::complex64);
    if (bytes == 16) return number(NumberType::complex128);
  } else {
    if (bytes == 1) return number(NumberType::int8);
    if (bytes == 2) return number(NumberType::int16);
    if (bytes == 4) return number(NumberType::int32);
    if (bytes == 8) return number(NumberType::int64);
  }
  return Layout::raw_bytes(static_cast<std::size_t>(bytes));
}

LayoutPointer of_derived(const Contents& contents, MPI_Datatype type) {
  switch (contents.combiner) {
    case MPI_COMBINER_STRUCT: return of_structure(contents);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER: return of_fortran_number(contents.combiner, type);
    default: break;
  }
  if (contents.types.empty()) return nullptr;
  const LayoutPointer child = flattened(contents.types.front());
  if (child == nullptr) return nullptr;
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return child;
    case MPI_COMBINER_CONTIGUOUS: return block_of(child, contents.numbers[0]);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: return of_vector(contents, child);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: return of_indexed(contents, child);
    case MPI_COMBINER_SUBARRAY: return of_subarray(contents, child);
    case MPI_COMBINER_DARRAY: return of_distributed_array(contents, child);
    default: return nullptr;
  }
}

/// A named type that is in no table: MPI_PACKED, MPI_LB, or one of a later MPI.
LayoutPointer of_named(MPI_Datatype type) {
  int bytes = 0;
  if (PMPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes < 0) return nullptr;
  return Layout::raw_bytes(static_cast<std::size_t>(bytes));
}

}  // namespace

LayoutPointer flattened(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return nullptr;
  if (const Predefined* const known = predefined(type)) return known->layout;
  const Contents contents = Contents::of(type);
  const bool named = contents.combiner == MPI_COMBINER_NAMED;
  const LayoutPointer layout = named ? of_named(type) : of_derived(contents, type);
  MPI_Count lower = 0, extent = 0;
  if (layout == nullptr || PMPI_Type_get_extent_x(type, &lower, &extent) != MPI_SUCCESS) return nullptr;
  return Layout::resized(layout, extent);
}

}  // namespace grapnel::front
