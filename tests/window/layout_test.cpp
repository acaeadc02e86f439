// Layouts against a model that lists every byte.
// SPDX-License-Identifier: Apache-2.0
#include "window/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace grapnel::window {
namespace {

using Offsets = std::vector<std::int64_t>;  // of each byte, in data order

struct Modelled {
  LayoutPointer layout;
  Offsets data, elements;
};

void append(Offsets& to, const Offsets& from, std::int64_t by) {
  for (const std::int64_t offset : from) to.push_back(offset + by);
}

Modelled modelled(NumberType number, std::size_t bytes, const std::vector<std::int64_t>& gaps) {
  Modelled made{Layout::element(number), {}, {}};
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(bytes); ++at) {
    made.elements.push_back(at);
    if (std::find(gaps.begin(), gaps.end(), at) == gaps.end()) made.data.push_back(at);
  }
  return made;
}

Modelled repeated(const Modelled& child, std::int64_t count, std::int64_t stride) {
  Modelled made{Layout::repeat(child.layout, count, stride), {}, {}};
  for (std::int64_t at = 0; at < count; ++at) {
    append(made.data, child.data, at * stride);
    append(made.elements, child.elements, at * stride);
  }
  return made;
}

Modelled sequence_of(const std::vector<std::pair<std::int64_t, Modelled>>& children) {
  std::vector<Layout::Part> parts;
  Modelled made;
  for (const auto& [offset, child] : children) {
    parts.push_back({offset, child.layout});
    append(made.data, child.data, offset);
    append(made.elements, child.elements, offset);
  }
  made.layout = Layout::sequence(std::move(parts));
  return made;
}

Offsets walked(const Layout& layout, std::int64_t count, Walk walk, std::size_t most) {
  Offsets bytes;
  for (Cursor cursor(layout, count, walk); !cursor.at_end();) {
    const std::size_t taken = std::min(most, cursor.run().bytes);
    for (std::size_t at = 0; at < taken; ++at) bytes.push_back(cursor.run().offset + static_cast<std::int64_t>(at));
    cursor.advance(taken);
  }
  return bytes;
}

Offsets of_strided(const StridedRun& run) {
  Offsets starts = {run.offset};
  for (int level = 0; level < run.shape.levels; ++level) {  // the outermost is taken last
    Offsets all;
    for (std::int64_t at = 0; at < run.shape.count[level + 1]; ++at) append(all, starts, at * run.shape.stride[level]);
    starts = std::move(all);
  }
  Offsets bytes;
  for (const std::int64_t start : starts) {
    for (std::int64_t at = 0; at < run.shape.count[0]; ++at) bytes.push_back(start + at);
  }
  return bytes;
}

Offsets copies(const Offsets& one, std::int64_t count, std::int64_t extent) {
  Offsets all;
  for (std::int64_t at = 0; at < count; ++at) append(all, one, at * extent);
  return all;
}

std::int64_t runs_of(const Layout& layout, std::int64_t count, Walk walk = Walk::data) {
  std::int64_t runs = 0;
  for (Cursor cursor(layout, count, walk); !cursor.at_end(); cursor.advance(cursor.run().bytes)) ++runs;
  return runs;
}

void expect_bounds(const Modelled& made, std::int64_t count) {
  const Offsets all = copies(made.elements, count, made.layout->extent());
  const Extent bounds = made.layout->bounds(count);
  if (all.empty()) {
    EXPECT_EQ(bounds.high, bounds.low);
    return;
  }
  EXPECT_EQ(bounds.low, *std::min_element(all.begin(), all.end()));
  EXPECT_EQ(bounds.high, *std::max_element(all.begin(), all.end()) + 1);
}

void expect_model(const Modelled& made, std::int64_t count) {
  const Layout& layout = *made.layout;
  EXPECT_EQ(layout.bytes(), made.data.size());
  for (const Walk walk : {Walk::data, Walk::elements}) {
    if (walk == Walk::elements && !layout.number()) continue;
    const Offsets expected = copies(walk == Walk::data ? made.data : made.elements, count, layout.extent());
    EXPECT_EQ(walked(layout, count, walk, SIZE_MAX), expected);
    EXPECT_EQ(walked(layout, count, walk, 3), expected);
    EXPECT_EQ(layout.walked_bytes(walk) * static_cast<std::size_t>(count), expected.size());
    if (const auto run = layout.contiguous(count, walk)) {
      EXPECT_EQ(of_strided({run->offset, Strided::contiguous(static_cast<std::int64_t>(run->bytes))}), expected);
    }
    if (const auto strided = layout.as_strided(count, walk)) {
      EXPECT_EQ(of_strided(*strided), expected);
    }
  }
  expect_bounds(made, count);
}

class Trees {
 public:
  explicit Trees(std::uint32_t seed) : random_(seed) {}

  Modelled tree(int depth) {
    if (depth == 0 || below(4) == 0) return leaf();
    Modelled made = below(2) == 0 ? repeat(depth) : sequence(depth);
    if (below(3) == 0) made.layout = Layout::resized(made.layout, between(-40, 90));
    return made;
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

 private:
  std::int64_t below(std::int64_t limit) { return between(0, limit - 1); }
  Modelled leaf() {
    switch (below(5)) {
      case 0: return modelled(NumberType::int16_with_place, 8, {2, 3});
      case 1: return modelled(NumberType::float64_with_place, 16, {12, 13, 14, 15});
      case 2: return modelled(NumberType::float32_pair, 8, {});
      case 3: return repeated(modelled(NumberType::int32, 4, {}), below(4), 4);
      default: return modelled(NumberType::int8, 1, {});
    }
  }
  Modelled repeat(int depth) {
    const Modelled child = tree(depth - 1);
    const std::int64_t stride = below(2) == 0 ? child.layout->upper() : between(-30, 60);
    return repeated(child, below(4), stride);
  }
  Modelled sequence(int depth) {
    std::vector<std::pair<std::int64_t, Modelled>> children;
    const bool same = below(2) == 0;
    const std::int64_t step = between(-10, 20);
    for (std::int64_t left = below(5), at = between(-20, 20); left > 0; --left, at += step) {
      children.emplace_back(same ? at : between(-50, 100),
                            same && !children.empty() ? children[0].second : tree(depth - 1));
    }
    return sequence_of(children);
  }

  std::mt19937 random_;
};

TEST(Layout, RandomTreesWalkAsTheModel) {
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    Trees trees(seed);
    const Modelled made = trees.tree(4);
    for (const std::int64_t count : {0, 1, 3}) expect_model(made, count);
    if (HasFailure()) return;
  }
}

TEST(Layout, RowsWithoutGapsAreOneRun) {
  const auto number = Layout::element(NumberType::float64);
  const auto rows = Layout::repeat(Layout::repeat(number, 8, 8), 4, 64);
  ASSERT_TRUE(rows->contiguous(3));
  EXPECT_EQ(rows->contiguous(3)->bytes, 768u);
  EXPECT_EQ(rows->number(), NumberType::float64);
  EXPECT_EQ(rows->elements(), 32u);
  const auto parts = Layout::sequence({{16, rows}, {272, number}, {280, number}});
  ASSERT_TRUE(parts->contiguous(1));
  EXPECT_EQ(parts->contiguous(1)->offset, 16);
  EXPECT_EQ(parts->contiguous(1)->bytes, 272u);
}

TEST(Layout, PartsAtRegularDistancesAreStrided) {
  const auto number = Layout::element(NumberType::int32);
  const auto parts = Layout::sequence({{40, number}, {24, number}, {8, number}});
  const auto strided = parts->as_strided(2);
  ASSERT_TRUE(strided);
  EXPECT_EQ(strided->offset, 40);
  EXPECT_EQ(strided->shape.levels, 2);
  EXPECT_EQ(strided->shape.stride[0], -16);
  EXPECT_EQ(runs_of(*parts, 2), 6);
  EXPECT_FALSE(Layout::sequence({{0, number}, {8, number}, {24, number}})->as_strided(1));
}

TEST(Layout, SixteenLevelsAreStridedAndSeventeenAreNot) {
  auto layout = Layout::element(NumberType::int8);
  for (int level = 0; level < Strided::kMaxLevels; ++level)
    layout = Layout::repeat(layout, 2, std::int64_t{3} << level);
  EXPECT_TRUE(layout->as_strided(1));
  EXPECT_FALSE(layout->as_strided(2));
}

TEST(Layout, MixedNumbersHaveNone) {
  const auto mixed =
      Layout::sequence({{0, Layout::element(NumberType::int32)}, {4, Layout::element(NumberType::float32)}});
  EXPECT_FALSE(mixed->number());
  EXPECT_EQ(mixed->element_bytes(), 1u);
  EXPECT_EQ(runs_of(*mixed, 5), 1);
}

TEST(Layout, AnElementsGapIsWalkedWithElementsOnly) {
  const auto pair = Layout::element(NumberType::int16_with_place);
  EXPECT_EQ(pair->bytes(), 6u);
  EXPECT_EQ(pair->element_bytes(), 8u);
  EXPECT_EQ(runs_of(*pair, 2), 3);  // the place and the next int16 touch
  EXPECT_EQ(runs_of(*pair, 2, Walk::elements), 1);
}

TEST(Layout, WithoutDataThereIsNothing) {
  for (const auto& none : {Layout::raw_bytes(0), Layout::sequence({}), Layout::repeat(Layout::raw_bytes(8), 0, 8)}) {
    EXPECT_EQ(none->bytes(), 0u);
    EXPECT_TRUE(Cursor(*none, 7).at_end());
    EXPECT_FALSE(none->contiguous(7));
    EXPECT_FALSE(none->as_strided(7));
  }
}

}  // namespace
}  // namespace grapnel::window
