// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/strided.hpp"

#include <algorithm>
#include <limits>

#include "kernels/memory.hpp"

namespace grapnel::rma {
namespace {

using kernels_test::Buffer;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// A random shape of up to six levels and a few KiB, rows a multiple of `granule`. Its rows do not overlap, because
/// each level's stride clears what is below it, in either direction.
Strided random_shape(base::Random& random, std::int64_t granule) {
  Strided shape;
  shape.levels = static_cast<int>(random.below(7));
  constexpr std::int64_t kRows[] = {1, 2, 3, 4, 5, 8, 9, 16, 33, 64, 100, 300};
  shape.count[0] = kRows[random.below(std::size(kRows))] * granule;
  std::int64_t extent_below = shape.count[0], total = shape.count[0];
  for (int level = 0; level < shape.levels; ++level) {
    std::int64_t count = static_cast<std::int64_t>(random.between(1, level == 0 ? 9 : 4));
    if (total * count > 20'000) count = 1;
    const std::int64_t gap = random.chance(0.4) ? 0 : static_cast<std::int64_t>(random.below(40)) * granule;
    const std::int64_t stride = extent_below + gap;
    shape.count[level + 1] = count;
    shape.stride[level] = random.chance(0.2) ? -stride : stride;
    extent_below = stride * (count - 1) + extent_below;
    total *= count;
  }
  return shape;
}

/// The same counts with other strides.
Strided restrided(const Strided& shape, base::Random& random, std::int64_t granule) {
  Strided other = shape;
  std::int64_t extent_below = shape.count[0];
  for (int level = 0; level < shape.levels; ++level) {
    const bool tight = random.chance(0.5);
    other.stride[level] = extent_below + (tight ? 0 : static_cast<std::int64_t>(random.below(40)) * granule);
    extent_below += other.stride[level] * (shape.count[level + 1] - 1);
  }
  return other;
}

/// The offset of every byte of the shape, in packed order: the naive loops.
std::vector<std::int64_t> naive_offsets(const Strided& shape) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < shape.total_bytes(); ++i) {
    std::int64_t rest = i / shape.count[0], offset = i % shape.count[0];
    for (int level = 0; level < shape.levels; ++level) {
      offset += rest % shape.count[level + 1] * shape.stride[level];
      rest /= shape.count[level + 1];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

/// Memory for a shape, and its base address: not the lowest one where strides are negative.
struct Field {
  Field(const Strided& shape, base::Random& random)
      : touched(extent(shape)),
        memory(static_cast<std::size_t>(touched.high - touched.low) + 128, random.below(64), random),
        base(memory.data() + 64 - touched.low) {}
  std::int64_t index(std::int64_t offset) const { return offset - touched.low + 64; }

  Extent touched;
  Buffer memory;
  std::byte* base;
};

std::string describe(const Strided& shape) {
  return fmt::format("count {}, stride {}", fmt::join(shape.count, shape.count + shape.levels + 1, " "),
                     fmt::join(shape.stride, shape.stride + shape.levels, " "));
}

class StridedKernels : public testing::Test {
 protected:
  base::Random random_{kernels_test::seed()};

  template <typename Round>
  void rounds(int count, std::int64_t granule, Round&& round) {
    SCOPED_TRACE(kernels_test::replay());
    for (int i = 0; i < count; ++i) {
      const Strided shape = random_shape(random_, granule);
      SCOPED_TRACE(fmt::format("round {}: {}", i, describe(shape)));
      ASSERT_TRUE(validate(shape).ok());
      round(shape);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(StridedKernels, NormalisedKeepsBytesAndOrder) {
  rounds(300, 1, [&](const Strided& shape) {
    const Strided less = normalised(shape);
    ASSERT_LE(less.levels, shape.levels);
    ASSERT_EQ(naive_offsets(less), naive_offsets(shape)) << describe(less);
  });
}

TEST_F(StridedKernels, ExtentIsWhatIsTouched) {
  rounds(300, 1, [&](const Strided& shape) {
    const auto offsets = naive_offsets(shape);
    const Extent touched = extent(shape);
    ASSERT_EQ(touched.low, *std::min_element(offsets.begin(), offsets.end()));
    ASSERT_EQ(touched.high, *std::max_element(offsets.begin(), offsets.end()) + 1);
  });
}

TEST_F(StridedKernels, PackAtRandomCuts) {
  rounds(400, 1, [&](const Strided& shape) {
    Field field(shape, random_);
    const auto offsets = naive_offsets(shape);
    std::vector<std::byte> packed(offsets.size());
    for (std::size_t first = 0; first < packed.size();) {
      const std::size_t bytes = std::min(packed.size() - first, random_.between(1, 700));
      pack(packed.data() + first, field.base, shape, first, bytes);
      first += bytes;
    }
    for (std::size_t i = 0; i < packed.size(); ++i) ASSERT_EQ(packed[i], field.base[offsets[i]]) << "byte " << i;
  });
}

TEST_F(StridedKernels, UnpackAtRandomCuts) {
  rounds(400, 1, [&](const Strided& shape) {
    Field field(shape, random_);
    const auto offsets = naive_offsets(shape);
    const auto packed = kernels_test::random_bytes(offsets.size(), random_);
    std::vector<std::byte> expected = field.memory.content();
    for (std::size_t i = 0; i < packed.size(); ++i) expected[field.index(offsets[i])] = packed[i];
    for (std::size_t first = 0; first < packed.size();) {
      const std::size_t bytes = std::min(packed.size() - first, random_.between(1, 700));
      unpack(field.base, shape, first, packed.data() + first, bytes);
      first += bytes;
    }
    ASSERT_EQ(expected, field.memory.content());
  });
}

TEST_F(StridedKernels, CopyBetweenShapes) {
  rounds(400, 1, [&](const Strided& shape) {
    const Strided other = restrided(shape, random_, 1);
    Field to(shape, random_), from(other, random_);
    const auto to_offsets = naive_offsets(shape), from_offsets = naive_offsets(other);
    std::vector<std::byte> expected = to.memory.content();
    for (std::size_t i = 0; i < to_offsets.size(); ++i) {
      expected[to.index(to_offsets[i])] = from.base[from_offsets[i]];
    }
    copy_strided(to.base, shape, from.base, other);
    ASSERT_EQ(expected, to.memory.content()) << describe(other);
  });
}

TEST_F(StridedKernels, RunsCoverTheRangeInOrder) {
  rounds(300, 1, [&](const Strided& shape) {
    const auto offsets = naive_offsets(shape);
    const std::size_t first = random_.below(offsets.size());
    const std::size_t bytes = random_.between(0, offsets.size() - first);
    std::vector<std::int64_t> seen;
    for_each_run(shape, first, bytes, [&](std::int64_t offset, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) seen.push_back(offset + static_cast<std::int64_t>(i));
    });
    ASSERT_EQ(seen, std::vector<std::int64_t>(offsets.begin() + first, offsets.begin() + first + bytes));
  });
}

Strided shape_of(std::vector<std::int64_t> count, std::vector<std::int64_t> stride) {
  Strided shape;
  shape.levels = static_cast<int>(stride.size());
  std::copy(count.begin(), count.end(), shape.count);
  std::copy(stride.begin(), stride.end(), shape.stride);
  return shape;
}

TEST(Shape, LevelsWithoutGapsAreMerged) {
  const Strided rows = normalised(shape_of({512, 4, 8, 3}, {512, 2048, 16384}));
  EXPECT_EQ(rows.levels, 0);
  EXPECT_EQ(rows.count[0], 512 * 4 * 8 * 3);
  const Strided planes = normalised(shape_of({512, 4, 1, 3}, {4096, 7, 4 * 4096}));
  EXPECT_EQ(planes.levels, 1);
  EXPECT_EQ(planes.count[1], 12);
  EXPECT_EQ(planes.stride[0], 4096);
  EXPECT_EQ(normalised(shape_of({8, 0, 5}, {100, 1000})).total_bytes(), 0);
}

TEST(Shape, NoDataTouchesNothing) {
  const Strided empty_row = shape_of({0, 5}, {100}), no_rows = shape_of({8, 0, 5}, {100, 1000});
  for (const Strided& shape : {empty_row, no_rows, Strided::contiguous(0)}) {
    EXPECT_TRUE(validate(shape).ok());
    EXPECT_EQ(extent(shape).low, 0);
    EXPECT_EQ(extent(shape).high, 0);
    pack(nullptr, nullptr, shape, 0, 0);
    copy_strided(nullptr, shape, nullptr, shape);
    for_each_run(shape, 0, 0, [](std::int64_t, std::size_t) { ADD_FAILURE(); });
  }
}

TEST(Shape, WhatCannotBeIsRefused) {
  Strided shape;
  shape.levels = Strided::kMaxLevels + 1;
  EXPECT_EQ(validate(shape).code(), Code::invalid_argument);
  shape.levels = -1;
  EXPECT_EQ(validate(shape).code(), Code::invalid_argument);
  EXPECT_FALSE(validate(shape_of({-1}, {})).ok());
  EXPECT_FALSE(validate(shape_of({8, -2}, {8})).ok());
  EXPECT_FALSE(validate(shape_of({0, -2}, {8})).ok());
  EXPECT_FALSE(validate(shape_of({8, kMost / 4}, {8})).ok());  // too many bytes
  EXPECT_FALSE(validate(shape_of({8, 3}, {kMost / 2})).ok());  // ends beyond the last address
  EXPECT_FALSE(validate(shape_of({8, 3, 3}, {-kMost / 2, -kMost / 2})).ok());
  EXPECT_TRUE(validate(shape_of({8, 2}, {kMost - 8})).ok());
  EXPECT_TRUE(validate(shape_of({8, 1}, {std::numeric_limits<std::int64_t>::min()})).ok());
}

}  // namespace
}  // namespace grapnel::rma
