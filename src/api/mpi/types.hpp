// MPI's datatypes as layouts (window/layout.hpp).
//
// A derived type is flattened once, by its envelope and contents; the layout is an attribute of the type, so that it
// ends with the type, whose handle may then be used again. Predefined types are a table, filled at the start.
// Threads: any. Cost: a predefined type: a probe of a hash table; a derived one: MPI_Type_get_attr, 20 to 40 ns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "api/mpi/handle_table.hpp"
#include "window/layout.hpp"

namespace grapnel::front {

/// The classes by which MPI 3.1, section 5.9.2, defines operations for types.
enum class TypeClass : std::uint8_t { none, integer, fortran_integer, floating, logical, complex, byte, pair };

struct Predefined {
  window::LayoutPointer layout;
  TypeClass type_class = TypeClass::none;
  NumberType number{};
  std::size_t bytes = 0;          ///< of an element, where elements follow each other without gaps; else 0
  std::size_t element_bytes = 0;  ///< the same, with the gaps inside of an element
  std::uint32_t operations = 0;   ///< a bit for each that MPI defines for the type

  bool has(Operation operation) const { return (operations >> static_cast<unsigned>(operation) & 1) != 0; }
};

/// Filled by `open_types`.
extern constinit HandleTable<MPI_Datatype, const Predefined>* predefined_types;

/// Fills the table of predefined types. Once, after MPI's start.
void open_types();

/// Null: no predefined type.
inline const Predefined* predefined(MPI_Datatype type) {
  return predefined_types != nullptr ? predefined_types->find(type) : nullptr;
}

/// Of one element of the type; null for MPI_DATATYPE_NULL, and for what the host cannot take apart. It lives as long as
/// the type.
const window::Layout* layout_of(MPI_Datatype type);

}  // namespace grapnel::front
