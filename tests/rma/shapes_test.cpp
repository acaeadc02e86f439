// Strided and vector transfers against a naive loop, on random shapes; message counts.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <numeric>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {
namespace {

constexpr std::size_t kArena = 96 * 1024;

struct Pair {
  Strided local, remote;
};

// A random shape with two sets of strides that fit the arena and do not overlap themselves.
Pair random_pair(base::Random& random, std::int64_t unit) {
  Pair pair;
  const int levels = static_cast<int>(random.below(5));
  pair.local.levels = pair.remote.levels = levels;
  std::int64_t row = unit * static_cast<std::int64_t>(random.between(1, 24));
  pair.local.count[0] = pair.remote.count[0] = row;
  std::int64_t local_span = row, remote_span = row;
  for (int level = 0; level < levels; ++level) {
    const auto count = static_cast<std::int64_t>(random.between(1, 5));
    pair.local.count[level + 1] = pair.remote.count[level + 1] = count;
    pair.local.stride[level] = local_span + unit * static_cast<std::int64_t>(random.below(4));
    pair.remote.stride[level] = remote_span + unit * static_cast<std::int64_t>(random.below(4));
    local_span = pair.local.stride[level] * count;
    remote_span = pair.remote.stride[level] * count;
  }
  return pair;
}

// fn(offset) for every row, in packed order: the definition itself.
template <typename Function>
void naive_rows(const Strided& shape, int level, std::int64_t offset, Function&& fn) {
  if (level == 0) return fn(offset);
  for (std::int64_t i = 0; i < shape.count[level]; ++i) {
    naive_rows(shape, level - 1, offset + i * shape.stride[level - 1], fn);
  }
}

std::vector<std::int64_t> rows_of(const Strided& shape) {
  std::vector<std::int64_t> rows;
  naive_rows(shape, shape.levels, 0, [&](std::int64_t offset) { rows.push_back(offset); });
  return rows;
}

bool fits(const Pair& pair) {
  return extent(pair.local).high <= static_cast<std::int64_t>(kArena) &&
         extent(pair.remote).high <= static_cast<std::int64_t>(kArena);
}

}  // namespace

WORLD_TEST(Shapes, StridedPutAndGetMatchANaiveLoop) {
  const auto memory = g.allocate(kArena * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  base::Random random(world_seed() * 1000 + index(g.rank()));
  std::vector<std::byte> local(kArena), expected(kArena), back(kArena);
  for (int round = 0; round < 12; ++round) {
    const Pair pair = random_pair(random, 1);
    if (!fits(pair)) continue;
    const Rank target{static_cast<int>(random.below(static_cast<std::uint64_t>(g.size())))};
    std::byte* remote = static_cast<std::byte*>(memory->on(target)) + index(g.rank()) * kArena;
    for (std::byte& one : local) one = static_cast<std::byte>(random.next());
    std::fill(expected.begin(), expected.end(), std::byte{0x5a});
    EXPECT_OK(g.put(expected.data(), remote, kArena, target));
    const auto local_rows = rows_of(pair.local), remote_rows = rows_of(pair.remote);
    for (std::size_t row = 0; row < local_rows.size(); ++row) {
      std::memcpy(&expected[static_cast<std::size_t>(remote_rows[row])],
                  &local[static_cast<std::size_t>(local_rows[row])], static_cast<std::size_t>(pair.local.count[0]));
    }
    EXPECT_OK(g.put(local.data(), pair.local, remote, pair.remote, target));
    EXPECT_OK(g.get(remote, back.data(), kArena, target));
    ASSERT_EQ(back, expected) << "put, round " << round;
    std::vector<std::byte> gathered(kArena, std::byte{1}), wanted(kArena, std::byte{1});
    for (std::size_t row = 0; row < local_rows.size(); ++row) {
      std::memcpy(&wanted[static_cast<std::size_t>(local_rows[row])],
                  &expected[static_cast<std::size_t>(remote_rows[row])], static_cast<std::size_t>(pair.local.count[0]));
    }
    EXPECT_OK(g.get(remote, pair.remote, gathered.data(), pair.local, target));
    ASSERT_EQ(gathered, wanted) << "get, round " << round;
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

Strided patch(std::int64_t row_bytes, std::int64_t rows, std::int64_t stride) {
  Strided shape;
  shape.levels = 1;
  shape.count[0] = row_bytes;
  shape.count[1] = rows;
  shape.stride[0] = stride;
  return shape;
}

// One level has a way of its own: with gaps, without, backwards, onto one row, empty, and up to the last byte.
WORLD_TEST(Shapes, PatchesOfAMatrix) {
  constexpr std::int64_t kBytes = 4096, kHalf = kBytes / 2;
  const auto memory = g.allocate(static_cast<std::size_t>(kBytes) * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  struct Sides {
    std::int64_t row_bytes, rows, local_stride, remote_stride;
  };
  constexpr Sides kCases[] = {{8, 5, 8, 24},       {8, 5, 24, 8},    {8, 5, 8, 8},      {24, 7, 40, 56},
                              {24, 7, -40, 56},    {24, 7, 40, -56}, {24, 7, -40, -56}, {24, 1, 5, 7},
                              {24, 7, 0, 40},      {24, 0, 40, 40},  {0, 7, 40, 40},    {64, 8, 96, (kHalf - 64) / 7},
                              {1, 2, 4, kHalf - 1}};
  for (const Rank target : {g.rank(), Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}}) {
    std::byte* const remote = static_cast<std::byte*>(memory->on(target)) + index(g.rank()) * kBytes;
    for (const Sides& sides : kCases) {
      const Pair pair{patch(sides.row_bytes, sides.rows, sides.local_stride),
                      patch(sides.row_bytes, sides.rows, sides.remote_stride)};
      std::vector<std::byte> local(kBytes), expected(kBytes, std::byte{0x5a}), back(kBytes);
      for (std::size_t i = 0; i < local.size(); ++i) local[i] = static_cast<std::byte>(i * 7 + 1);
      EXPECT_OK(g.put(expected.data(), remote, kBytes, target));
      const auto local_rows = rows_of(pair.local), remote_rows = rows_of(pair.remote);
      for (std::size_t row = 0; row < local_rows.size(); ++row) {
        std::memcpy(expected.data() + kHalf + remote_rows[row], local.data() + kHalf + local_rows[row],
                    static_cast<std::size_t>(sides.row_bytes));
      }
      EXPECT_OK(g.put(local.data() + kHalf, pair.local, remote + kHalf, pair.remote, target));
      EXPECT_OK(g.get(remote, back.data(), kBytes, target));
      EXPECT_TRUE(back == expected) << sides.rows << " rows of " << sides.row_bytes << ", strides "
                                    << sides.local_stride << " and " << sides.remote_stride;
      if (sides.local_stride == 0) continue;  // got onto one row: any of them is there
      std::vector<std::byte> gathered = local;
      EXPECT_OK(g.get(remote + kHalf, pair.remote, gathered.data() + kHalf, pair.local, target));
      EXPECT_TRUE(gathered == local) << "got: strides " << sides.local_stride << " and " << sides.remote_stride;
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

// Sixteen levels, none of which continues another: 65,536 rows of a byte, packed into one message.
WORLD_TEST(Shapes, StridedOfTheMostLevels) {
  Pair pair;
  pair.local.levels = pair.remote.levels = Strided::kMaxLevels;
  pair.local.count[0] = pair.remote.count[0] = 1;
  std::int64_t local_span = 1, remote_span = 1;
  for (int level = 0; level < Strided::kMaxLevels; ++level) {
    pair.local.count[level + 1] = pair.remote.count[level + 1] = 2;
    pair.local.stride[level] = local_span + (level % 4 == 0 ? 1 : 0);
    pair.remote.stride[level] = remote_span + (level % 3 == 0 ? 1 : 0);
    local_span = 2 * pair.local.stride[level];
    remote_span = 2 * pair.remote.stride[level];
  }
  const auto memory = g.allocate(static_cast<std::size_t>(remote_span));
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  std::vector<std::byte> local(static_cast<std::size_t>(local_span)), back(local.size(), std::byte{1});
  base::Random random(pattern(g.rank(), 3, 0));
  for (std::byte& one : local) one = static_cast<std::byte>(random.next());
  std::vector<std::byte> wanted = back;
  for (const std::int64_t row : rows_of(pair.local)) {
    wanted[static_cast<std::size_t>(row)] = local[static_cast<std::size_t>(row)];
  }
  EXPECT_OK(g.put(local.data(), pair.local, memory->on(next), pair.remote, next));
  EXPECT_OK(g.get(memory->on(next), pair.remote, back.data(), pair.local, next));
  EXPECT_TRUE(back == wanted);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Shapes, StridedAccumulateMatchesANaiveLoop) {
  const auto memory = g.allocate(kArena * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  base::Random random(world_seed() * 77 + index(g.rank()));
  std::vector<double> local(kArena / 8), expected(kArena / 8), back(kArena / 8);
  for (int round = 0; round < 8; ++round) {
    const Pair pair = random_pair(random, 8);
    if (!fits(pair)) continue;
    const Rank target{static_cast<int>(random.below(static_cast<std::uint64_t>(g.size())))};
    std::byte* remote = static_cast<std::byte*>(memory->on(target)) + index(g.rank()) * kArena;
    for (std::size_t i = 0; i < local.size(); ++i) {
      local[i] = static_cast<double>(random.below(1000));
      expected[i] = static_cast<double>(random.below(1000));
    }
    EXPECT_OK(g.put(expected.data(), remote, kArena, target));
    const auto local_rows = rows_of(pair.local), remote_rows = rows_of(pair.remote);
    for (std::size_t row = 0; row < local_rows.size(); ++row) {
      for (std::int64_t i = 0; i < pair.local.count[0] / 8; ++i) {
        expected[static_cast<std::size_t>(remote_rows[row] / 8 + i)] +=
            0.5 * local[static_cast<std::size_t>(local_rows[row] / 8 + i)];
      }
    }
    const double half = 0.5;
    EXPECT_OK(g.accumulate(ElementType::float64, &half, local.data(), pair.local, remote, pair.remote, target));
    EXPECT_OK(g.get(remote, back.data(), kArena, target));
    ASSERT_EQ(back, expected) << "round " << round;
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Shapes, VectorMatchesANaiveLoop) {
  const auto memory = g.allocate(kArena * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  base::Random random(world_seed() * 31 + index(g.rank()));
  std::vector<std::int32_t> local(kArena / 4), expected(kArena / 4), back(kArena / 4);
  for (int round = 0; round < 6; ++round) {
    const Rank target{static_cast<int>(random.below(static_cast<std::uint64_t>(g.size())))};
    auto* remote =
        reinterpret_cast<std::int32_t*>(static_cast<std::byte*>(memory->on(target)) + index(g.rank()) * kArena);
    for (auto& one : local) one = static_cast<std::int32_t>(random.below(100000));
    for (auto& one : expected) one = static_cast<std::int32_t>(random.below(100000));
    EXPECT_OK(g.put(expected.data(), remote, kArena, target));
    std::vector<Piece> pieces;
    std::size_t at = 0;  // disjoint places in the target, from places of their own here
    while (at + 600 < expected.size()) {
      const std::size_t length = random.below(random.chance(0.1) ? 600 : 12);
      const std::size_t from = random.below(local.size() - 600);
      pieces.push_back({&local[from], remote + at, length * 4});
      at += length + random.below(3);
    }
    const bool adds = random.chance(0.5);
    const std::int32_t three = 3;
    for (const Piece& piece : pieces) {
      const auto place = static_cast<std::size_t>(static_cast<std::int32_t*>(piece.remote) - remote);
      for (std::size_t i = 0; i < piece.bytes / 4; ++i) {
        const std::int32_t value = static_cast<std::int32_t*>(piece.local)[i];
        expected[place + i] = adds ? expected[place + i] + 3 * value : value;
      }
    }
    EXPECT_OK(adds ? g.accumulate(ElementType::int32, &three, pieces, target) : g.put(pieces, target));
    EXPECT_OK(g.get(remote, back.data(), kArena, target));
    ASSERT_EQ(back, expected) << "round " << round << (adds ? " accumulate" : " put");
    std::vector<std::int32_t> gathered(local.size());
    for (Piece& piece : pieces)
      piece.local = &gathered[static_cast<std::size_t>(static_cast<std::int32_t*>(piece.remote) - remote)];
    EXPECT_OK(g.get(pieces, target));
    for (const Piece& piece : pieces) {
      const auto place = static_cast<std::size_t>(static_cast<std::int32_t*>(piece.remote) - remote);
      ASSERT_EQ(std::memcmp(piece.local, &expected[place], piece.bytes), 0);
    }
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST_ON(Shapes, MessagesAreAsFewAsTheirBytesAllow, (std::vector<Shape>{{2, 2}, {3, 3}})) {
  const auto memory = g.allocate(1 << 20);
  ASSERT_TRUE(memory.ok());
  const Rank next{(static_cast<int>(index(g.rank())) + 1) % g.size()};
  constexpr std::uint64_t kChunk = 64 * 1024;
  const auto put_messages = [&] { return g.operation_counts()[0].wire_messages; };
  std::vector<std::byte> data(1 << 20);
  // Rows of 700 bytes do not divide a chunk: a message ends in the middle of one.
  Strided local, remote;
  local.levels = remote.levels = 1;
  local.count[0] = remote.count[0] = 700;
  local.count[1] = remote.count[1] = 300;
  local.stride[0] = 701;
  remote.stride[0] = 1024;
  std::uint64_t before = put_messages();
  EXPECT_OK(g.put(data.data(), local, memory->on(next), remote, next));
  EXPECT_EQ(put_messages() - before, (700 * 300 + kChunk - 1) / kChunk);
  // An aggregate handle: 5,000 puts of 8 bytes are less than a chunk, and so are their addresses.
  Handle handle = Handle::aggregate();
  before = put_messages();
  for (std::size_t i = 0; i < 5000; ++i) {
    EXPECT_OK(g.start_put(data.data() + 8 * i, static_cast<std::byte*>(memory->on(next)) + 16 * i, 8, next, &handle));
  }
  EXPECT_EQ(put_messages(), before);
  EXPECT_OK(g.wait(handle));
  EXPECT_EQ(put_messages() - before, (5000 * 8 + kChunk - 1) / kChunk);
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Shapes, BadShapesAreRefused) {
  const auto memory = g.allocate(4096);
  ASSERT_TRUE(memory.ok());
  const Rank target{g.size() - 1};
  std::vector<std::byte> data(1 << 16);
  Strided shape, other;
  shape.levels = other.levels = 1;
  shape.count[0] = other.count[0] = 8;
  shape.count[1] = other.count[1] = 4;
  shape.stride[0] = other.stride[0] = 16;
  other.count[1] = 5;
  EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(target), other, target));
  other = shape;
  for (const std::int64_t stride : {std::int64_t{1} << 20, std::int64_t{1} << 40, INT64_MAX}) {  // leaves the segment
    other.stride[0] = stride;
    EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(target), other, target));
    EXPECT_CODE(Code::invalid_argument, g.get(memory->on(target), other, data.data(), shape, target));
  }
  other = shape;
  EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(target), other, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(target), other, Rank{-1}));
  other.stride[0] = -16;  // begins before rank 0's memory, the first of its node's segment
  EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(Rank{0}), other, Rank{0}));
  other = shape;
  other.levels = 99;
  EXPECT_CODE(Code::invalid_argument, g.put(data.data(), shape, memory->on(target), other, target));
  EXPECT_CODE(Code::invalid_argument,
              g.accumulate(ElementType::complex128, nullptr, data.data(), shape, memory->on(target), shape, target));
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*memory));
}

}  // namespace grapnel::test
