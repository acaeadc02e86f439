// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/strided.hpp"

#include "rma/kernels/copy.hpp"

namespace grapnel::rma {
namespace {

std::byte* at(void* base, std::int64_t offset) { return static_cast<std::byte*>(base) + offset; }
const std::byte* at(const void* base, std::int64_t offset) { return static_cast<const std::byte*>(base) + offset; }

/// All of two shapes as equal rows. One level, the common patch of a matrix, needs no walk.
template <typename OnRows>
void for_all_rows(const Strided& to, const Strided& from, const OnRows& on_rows) {
  using Sides = Walk<2>::Offsets;
  if (to.levels == 1 && (to.stride[0] != to.count[0] || from.stride[0] != from.count[0])) {
    if (to.count[0] > 0) on_rows(Sides{}, Sides{to.stride[0], from.stride[0]}, to.count[0], to.count[1]);
    return;
  }
  Walk<2>({&to, &from}).run(0, to.total_bytes(), on_rows);
}

std::int64_t as_signed(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

void pack(void* out, const void* base, const Strided& shape, std::size_t first, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(out);
  Walk<1>({&shape}).run(as_signed(first), as_signed(bytes),
                        [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
                          copy_rows(to, row_bytes, at(base, offsets[0]), strides[0], row_bytes, rows);
                          to += row_bytes * rows;
                        });
}

void unpack(void* base, const Strided& shape, std::size_t first, const void* in, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(in);
  Walk<1>({&shape}).run(as_signed(first), as_signed(bytes),
                        [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
                          copy_rows(at(base, offsets[0]), strides[0], from, row_bytes, row_bytes, rows);
                          from += row_bytes * rows;
                        });
}

void copy_strided(void* destination, const Strided& destination_shape, const void* source,
                  const Strided& source_shape) {
  for_all_rows(destination_shape, source_shape,
               [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
                 copy_rows(at(destination, offsets[0]), strides[0], at(source, offsets[1]), strides[1], row_bytes,
                           rows);
               });
}

}  // namespace grapnel::rma
