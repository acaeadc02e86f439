// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/types.hpp"

#include <memory>
#include <vector>

#include "api/mpi/flatten.hpp"
#include "api/mpi/numbers.hpp"
#include "base/mutex.hpp"

namespace grapnel::front {
namespace {

using window::Layout;
using window::LayoutPointer;

struct Types {
  std::vector<std::unique_ptr<const Predefined>> kept;
  int keyval = MPI_KEYVAL_INVALID;
  base::Mutex mutex;  ///< of setting a type's attribute
};

Types& types() {
  static Types* const the_types = new Types;  // until the process ends: types may be freed in MPI_Finalize
  return *the_types;
}

int delete_layout(MPI_Datatype, int, void* value, void*) {
  delete static_cast<LayoutPointer*>(value);
  return MPI_SUCCESS;
}

void add(MPI_Datatype type, NumberType number, TypeClass type_class) {
  if (type == MPI_DATATYPE_NULL || predefined(type) != nullptr) return;
  auto made = std::make_unique<Predefined>(Predefined{Layout::element(number), type_class, number});
  if (made->layout->contiguous(2, window::Walk::data)) made->bytes = made->layout->bytes();
  if (made->layout->contiguous(2, window::Walk::elements)) made->element_bytes = made->layout->element_bytes();
  for (int operation = 0; operation < kOperations; ++operation) {
    if (is_defined(static_cast<Operation>(operation), type_class)) made->operations |= std::uint32_t{1} << operation;
  }
  predefined_types->add(type, made.get());
  types().kept.push_back(std::move(made));
}

NumberType integer_of(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1: return is_signed ? NumberType::int8 : NumberType::uint8;
    case 2: return is_signed ? NumberType::int16 : NumberType::uint16;
    case 4: return is_signed ? NumberType::int32 : NumberType::uint32;
    default: return is_signed ? NumberType::int64 : NumberType::uint64;
  }
}

template <typename Integer>
void add_integer(MPI_Datatype type) {
  add(type, integer_of(sizeof(Integer), std::is_signed_v<Integer>), TypeClass::integer);
}

/// By the size that the host gives it; not added where no integer has that size.
void add_fortran_integer(MPI_Datatype type, TypeClass type_class) {
  if (type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) {
    add(type, integer_of(static_cast<std::size_t>(bytes), true), type_class);
  }
}

/// A real of 4 or 8 bytes, or a complex of two of them.
void add_fortran_real(MPI_Datatype type, bool complex) {
  if (type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  const TypeClass type_class = complex ? TypeClass::complex : TypeClass::floating;
  if (bytes == (complex ? 8 : 4)) add(type, complex ? NumberType::complex64 : NumberType::float32, type_class);
  if (bytes == (complex ? 16 : 8)) add(type, complex ? NumberType::complex128 : NumberType::float64, type_class);
}

void add_c_integers() {
  add_integer<signed char>(MPI_SIGNED_CHAR);
  add_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  add_integer<short>(MPI_SHORT);
  add_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  add_integer<int>(MPI_INT);
  add_integer<unsigned>(MPI_UNSIGNED);
  add_integer<long>(MPI_LONG);
  add_integer<unsigned long>(MPI_UNSIGNED_LONG);
  add_integer<long long>(MPI_LONG_LONG_INT);
  add_integer<long long>(MPI_LONG_LONG);
  add_integer<unsigned long long>(MPI_UNSIGNED_LONG_LONG);
  add_integer<std::int8_t>(MPI_INT8_T);
  add_integer<std::int16_t>(MPI_INT16_T);
  add_integer<std::int32_t>(MPI_INT32_T);
  add_integer<std::int64_t>(MPI_INT64_T);
  add_integer<std::uint8_t>(MPI_UINT8_T);
  add_integer<std::uint16_t>(MPI_UINT16_T);
  add_integer<std::uint32_t>(MPI_UINT32_T);
  add_integer<std::uint64_t>(MPI_UINT64_T);
  add_integer<MPI_Aint>(MPI_AINT);
  add_integer<MPI_Offset>(MPI_OFFSET);
  add_integer<MPI_Count>(MPI_COUNT);
  add_integer<char>(MPI_CHAR);  // in MPI it is no integer, but both hosts take it for arithmetic
  add(MPI_WCHAR, integer_of(sizeof(wchar_t), true), TypeClass::none);
  add(MPI_BYTE, NumberType::uint8, TypeClass::byte);
}

void add_other_c_types() {
  add(MPI_FLOAT, NumberType::float32, TypeClass::floating);
  add(MPI_DOUBLE, NumberType::float64, TypeClass::floating);
  add(MPI_LONG_DOUBLE, NumberType::long_double, TypeClass::floating);
  for (MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL}) add(type, NumberType::uint8, TypeClass::logical);
  for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_COMPLEX, MPI_CXX_FLOAT_COMPLEX})
    add(type, NumberType::complex64, TypeClass::complex);
  for (MPI_Datatype type : {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX})
    add(type, NumberType::complex128, TypeClass::complex);
  for (MPI_Datatype type : {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})
    add(type, NumberType::complex_long_double, TypeClass::complex);
  add(MPI_FLOAT_INT, NumberType::float32_with_place, TypeClass::pair);
  add(MPI_DOUBLE_INT, NumberType::float64_with_place, TypeClass::pair);
  add(MPI_LONG_INT, NumberType::int64_with_place, TypeClass::pair);
  add(MPI_SHORT_INT, NumberType::int16_with_place, TypeClass::pair);
  add(MPI_2INT, NumberType::int32_with_place, TypeClass::pair);
  add(MPI_LONG_DOUBLE_INT, NumberType::long_double_with_place, TypeClass::pair);
}

void add_fortran_types() {
  add(MPI_CHARACTER, NumberType::int8, TypeClass::none);
  for (MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add_fortran_integer(type, TypeClass::fortran_integer);
  add_fortran_integer(MPI_LOGICAL, TypeClass::logical);
  for (MPI_Datatype type : {MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION}) add_fortran_real(type, false);
  for (MPI_Datatype type : {MPI_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_DOUBLE_COMPLEX}) add_fortran_real(type, true);
  add(MPI_2INTEGER, NumberType::int32_with_place, TypeClass::pair);
  add(MPI_2REAL, NumberType::float32_pair, TypeClass::pair);
  add(MPI_2DOUBLE_PRECISION, NumberType::float64_pair, TypeClass::pair);
}

/// Sets the layout, unless another thread has set one: then that one.
const Layout* kept_layout(MPI_Datatype type, LayoutPointer layout) {
  const base::MutexLock lock(types().mutex);
  void* value = nullptr;
  int found = 0;
  PMPI_Type_get_attr(type, types().keyval, &value, &found);
  if (found == 0) {
    auto own = std::make_unique<LayoutPointer>(std::move(layout));
    if (PMPI_Type_set_attr(type, types().keyval, own.get()) != MPI_SUCCESS) return nullptr;
    value = own.release();
  }
  return static_cast<LayoutPointer*>(value)->get();
}

}  // namespace

constinit HandleTable<MPI_Datatype, const Predefined>* predefined_types = nullptr;

void open_types() {
  if (types().keyval != MPI_KEYVAL_INVALID) return;
  // Until the process ends, as `types`. Handles are addresses that differ from run to run: in a table of 128 slots a
  // quarter of the look-ups would begin in the slot of another type.
  constexpr std::size_t kSlots = 1024;
  predefined_types = new HandleTable<MPI_Datatype, const Predefined>(kSlots);
  PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_layout, &types().keyval, nullptr);
  add_c_integers();
  add_other_c_types();
  add_fortran_types();
}

const Layout* layout_of(MPI_Datatype type) {
  if (const Predefined* const known = predefined(type)) return known->layout.get();
  if (type == MPI_DATATYPE_NULL) return nullptr;
  void* value = nullptr;
  int found = 0;
  if (PMPI_Type_get_attr(type, types().keyval, &value, &found) == MPI_SUCCESS && found != 0) {
    return static_cast<LayoutPointer*>(value)->get();
  }
  LayoutPointer layout = flattened(type);
  return layout != nullptr ? kept_layout(type, std::move(layout)) : nullptr;
}

}  // namespace grapnel::front
