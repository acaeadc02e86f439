// SPDX-License-Identifier: Apache-2.0
#include "selftest/shaped.hpp"

#include <cstring>
#include <vector>

namespace grapnel::tool::selftest {
namespace {

constexpr std::size_t kFirstRow = 40;
constexpr std::int64_t kScale = 5;

Strided remote_shape(const Rows& rows) {
  Strided shape;
  shape.levels = 1;
  shape.count[0] = static_cast<std::int64_t>(rows.row);
  shape.count[1] = static_cast<std::int64_t>(rows.count);
  shape.stride[0] = static_cast<std::int64_t>(rows.stride);
  return shape;
}

Strided local_shape(const Rows& rows) {
  Strided shape = remote_shape(rows);
  shape.stride[0] = shape.count[0];
  return shape;
}

std::vector<Piece> pieces_of(Scene& scene, std::byte* local) {
  std::vector<Piece> pieces;
  std::byte* const slot = scene.slot_of(*scene.target());
  for (const VectorPiece& one : kPieces) {
    pieces.push_back({local, slot + one.place, one.bytes});
    local += one.bytes;
  }
  return pieces;
}

}  // namespace

void add_ink(Rank origin, std::size_t place, std::int64_t scale, std::byte* word) {
  std::byte bytes[sizeof(std::int64_t)];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = ink(origin, place + i);
  std::uint64_t value = 0, sum = 0;
  std::memcpy(&value, bytes, sizeof value);
  std::memcpy(&sum, word, sizeof sum);
  sum += static_cast<std::uint64_t>(scale) * value;
  std::memcpy(word, &sum, sizeof sum);
}

Status put_rows(Scene& scene, const Rows& rows) {
  if (!scene.target()) return {};
  const Rank target = *scene.target();
  GRAPNEL_TRY(scene.runtime().put(scene.source(), local_shape(rows), scene.slot_of(target) + kFirstRow,
                                  remote_shape(rows), target));
  return scene.runtime().fence(target);
}

Status get_rows(Scene& scene, const Rows& rows) {
  if (!scene.target()) return {};
  const Rank target = *scene.target();
  return scene.runtime().get(scene.slot_of(target) + kFirstRow, remote_shape(rows), scene.room(), local_shape(rows),
                             target);
}

Status get_rows_and_compare(Scene& scene, const Rows& rows) {
  if (!scene.target()) return {};
  GRAPNEL_TRY(get_rows(scene, rows));
  const Rank target = *scene.target();
  Bytes expected(rows.bytes());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = ground(target, kFirstRow + i / rows.row * rows.stride + i % rows.row);
  }
  return scene.compare(scene.room(), expected.data(), expected.size(), "what was got");
}

void expect_rows(Rank origin, const Rows& rows, std::byte* slot) {
  for (std::size_t i = 0; i < rows.bytes(); ++i) {
    slot[kFirstRow + i / rows.row * rows.stride + i % rows.row] = ink(origin, i);
  }
}

Status accumulate_strided(Scene& scene) {
  if (!scene.target()) return {};
  const Rank target = *scene.target();
  GRAPNEL_TRY(scene.runtime().accumulate(ElementType::int64, &kScale, scene.source(), local_shape(kShortRows),
                                         scene.slot_of(target) + kFirstRow, remote_shape(kShortRows), target));
  return scene.runtime().fence(target);
}

void expect_strided_sum(Rank origin, Rank, std::byte* slot) {
  for (std::size_t i = 0; i < kShortRows.bytes(); i += sizeof(std::int64_t)) {
    const std::size_t place = i / kShortRows.row * kShortRows.stride + i % kShortRows.row;
    add_ink(origin, i, kScale, slot + kFirstRow + place);
  }
}

Status put_vector(Scene& scene) {
  if (!scene.target()) return {};
  GRAPNEL_TRY(scene.runtime().put(pieces_of(scene, const_cast<std::byte*>(scene.source())), *scene.target()));
  return scene.runtime().fence(*scene.target());
}

Status get_vector(Scene& scene) {
  if (!scene.target()) return {};
  return scene.runtime().get(pieces_of(scene, scene.room()), *scene.target());
}

Status get_vector_and_compare(Scene& scene) {
  if (!scene.target()) return {};
  GRAPNEL_TRY(get_vector(scene));
  Bytes expected;
  for (const VectorPiece& one : kPieces) {
    for (std::size_t i = 0; i < one.bytes; ++i) expected.push_back(ground(*scene.target(), one.place + i));
  }
  return scene.compare(scene.room(), expected.data(), expected.size(), "what was got");
}

Status accumulate_vector(Scene& scene) {
  if (!scene.target()) return {};
  GRAPNEL_TRY(scene.runtime().accumulate(ElementType::int64, &kScale,
                                         pieces_of(scene, const_cast<std::byte*>(scene.source())), *scene.target()));
  return scene.runtime().fence(*scene.target());
}

void expect_vector(Rank origin, Rank, std::byte* slot) {
  std::size_t place = 0;
  for (const VectorPiece& one : kPieces) {
    for (std::size_t i = 0; i < one.bytes; ++i) slot[one.place + i] = ink(origin, place++);
  }
}

void expect_vector_sum(Rank origin, Rank, std::byte* slot) {
  std::size_t place = 0;
  for (const VectorPiece& one : kPieces) {
    for (std::size_t i = 0; i < one.bytes; i += sizeof(std::int64_t)) {
      add_ink(origin, place + i, kScale, slot + one.place + i);
    }
    place += one.bytes;
  }
}

}  // namespace grapnel::tool::selftest
