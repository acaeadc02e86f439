// SPDX-License-Identifier: Apache-2.0
#include "rma/update_kernels.hpp"

#include <array>
#include <optional>

#include "rma/internal/updating.hpp"
#include "rma/kernels/accumulate.hpp"

namespace grapnel::rma {
namespace {

/// A sum of these numbers is the addition of these elements: integers wrap.
std::optional<ElementType> added_as(NumberType number) {
  switch (number) {
    case NumberType::int32:
    case NumberType::uint32: return ElementType::int32;
    case NumberType::int64:
    case NumberType::uint64: return ElementType::int64;
    case NumberType::float32: return ElementType::float32;
    case NumberType::float64: return ElementType::float64;
    case NumberType::complex64: return ElementType::complex64;
    case NumberType::complex128: return ElementType::complex128;
    default: return std::nullopt;
  }
}

template <ElementType type>
void add(void* into, const void* from, std::size_t count) {
  static const AccumulateRows rows = choose_accumulate(type, one_as_bytes(type));
  rows(static_cast<std::byte*>(into), 0, static_cast<const std::byte*>(from), 0, count * element_bytes(type), 1,
       one_as_bytes(type));
}

// By ElementType; xor64 is no sum.
constexpr std::array kAdditions = {add<ElementType::int32>,     add<ElementType::int64>,
                                   add<ElementType::float32>,   add<ElementType::float64>,
                                   add<ElementType::complex64>, add<ElementType::complex128>};

/// Without a join: there is none.
Reduction made(grapnel::Operation operation, NumberType number) {
  auto kernel = kernel_of({operation, number});
  if (!kernel) return {};
  const auto type = operation == grapnel::Operation::sum ? added_as(number) : std::nullopt;
  if (type) kernel->join = kAdditions[static_cast<std::size_t>(*type)];
  return *kernel;
}

struct Kernels {
  Kernels() {
    for (int operation = 0; operation < kOperations; ++operation) {
      for (int number = 0; number < kNumberTypes; ++number) {
        table[operation][number] = made(static_cast<grapnel::Operation>(operation), static_cast<NumberType>(number));
      }
    }
  }
  std::array<std::array<Reduction, kNumberTypes>, kOperations> table;
};

}  // namespace

const Reduction* find_kernel(grapnel::Operation operation, NumberType number) {
  static const Kernels kernels;
  const int row = static_cast<int>(operation), column = static_cast<int>(number);
  if (!is_operation(row) || !is_number_type(column)) return nullptr;
  const Reduction& found = kernels.table[row][column];
  return found.join != nullptr ? &found : nullptr;
}

}  // namespace grapnel::rma
