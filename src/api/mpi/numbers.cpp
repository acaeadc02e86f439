// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/numbers.hpp"

namespace grapnel::front {
namespace {

bool is_integer(TypeClass type_class) {
  return type_class == TypeClass::integer || type_class == TypeClass::fortran_integer;
}

}  // namespace

std::optional<Operation> operation_of(MPI_Op op) {
  // The most frequent ones first; handles need not be constants.
  if (op == MPI_SUM) return Operation::sum;
  if (op == MPI_REPLACE) return Operation::replace;
  if (op == MPI_NO_OP) return Operation::none;
  if (op == MPI_MAX) return Operation::maximum;
  if (op == MPI_MIN) return Operation::minimum;
  if (op == MPI_PROD) return Operation::product;
  if (op == MPI_LAND) return Operation::logical_and;
  if (op == MPI_LOR) return Operation::logical_or;
  if (op == MPI_LXOR) return Operation::logical_xor;
  if (op == MPI_BAND) return Operation::bit_and;
  if (op == MPI_BOR) return Operation::bit_or;
  if (op == MPI_BXOR) return Operation::bit_xor;
  if (op == MPI_MINLOC) return Operation::minimum_with_place;
  if (op == MPI_MAXLOC) return Operation::maximum_with_place;
  return std::nullopt;
}

bool is_defined(Operation operation, TypeClass type_class) {
  switch (operation) {
    case Operation::replace:
    case Operation::none: return true;
    case Operation::minimum:
    case Operation::maximum: return is_integer(type_class) || type_class == TypeClass::floating;
    case Operation::sum:
    case Operation::product:
      return is_integer(type_class) || type_class == TypeClass::floating || type_class == TypeClass::complex;
    case Operation::logical_and:
    case Operation::logical_or:
    case Operation::logical_xor: return type_class == TypeClass::integer || type_class == TypeClass::logical;
    case Operation::bit_and:
    case Operation::bit_or:
    case Operation::bit_xor: return is_integer(type_class) || type_class == TypeClass::byte;
    case Operation::minimum_with_place:
    case Operation::maximum_with_place: return type_class == TypeClass::pair;
    default: return false;
  }
}

bool is_comparable(TypeClass type_class) {
  return is_integer(type_class) || type_class == TypeClass::logical || type_class == TypeClass::byte;
}

}  // namespace grapnel::front
