// The strided and vector operations of the self-test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "selftest/scene.hpp"

namespace grapnel::tool::selftest {

/// Rows in the target's slot; at the origin they lie one behind the other.
struct Rows {
  std::size_t row, count, stride;
  constexpr std::size_t bytes() const { return row * count; }
};
inline constexpr Rows kShortRows{64, 16, 200}, kLongRows{4096, 8, 6000};

/// A piece of the vectors, in the target's slot.
struct VectorPiece {
  std::size_t place, bytes;
};
inline constexpr VectorPiece kPieces[] = {{8, 8}, {48, 1000}, {3000, 24}, {70000, 4096}, {1200, 512}};
constexpr std::size_t vector_bytes() {
  std::size_t sum = 0;
  for (const VectorPiece& one : kPieces) sum += one.bytes;
  return sum;
}

/// `origin`'s eight bytes of ink at `place`, as a number, `scale` times onto the number at `word`.
void add_ink(Rank origin, std::size_t place, std::int64_t scale, std::byte* word);

/// Nothing, and ok, without a target; so all of them.
Status put_rows(Scene& scene, const Rows& rows);
Status get_rows(Scene& scene, const Rows& rows);
Status get_rows_and_compare(Scene& scene, const Rows& rows);
void expect_rows(Rank origin, const Rows& rows, std::byte* slot);

template <const Rows& rows>
Status put_strided(Scene& scene) {
  return put_rows(scene, rows);
}
template <const Rows& rows>
Status get_strided(Scene& scene) {
  return get_rows(scene, rows);
}
template <const Rows& rows>
Status get_strided_and_compare(Scene& scene) {
  return get_rows_and_compare(scene, rows);
}
template <const Rows& rows>
void expect_strided(Rank origin, Rank, std::byte* slot) {
  expect_rows(origin, rows, slot);
}
/// The short rows.
Status accumulate_strided(Scene& scene);
void expect_strided_sum(Rank origin, Rank owner, std::byte* slot);

Status put_vector(Scene& scene);
Status get_vector(Scene& scene);
Status get_vector_and_compare(Scene& scene);
Status accumulate_vector(Scene& scene);
void expect_vector(Rank origin, Rank owner, std::byte* slot);
void expect_vector_sum(Rank origin, Rank owner, std::byte* slot);

}  // namespace grapnel::tool::selftest
