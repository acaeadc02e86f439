// Groups of every shape: their exchange, their memory, and what the others may do with it.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

std::vector<Shape> group_shapes() { return {{1, 1}, {3, 1}, {7, 1}, {3, 2}, {5, 2}, {3, 3}, {5, 3}, {7, 4}}; }

bool simulated(Runtime& g) { return g.implementation().launch->description() == "inproc"; }

// The same in all ranks: each rank is in by one half, and at least one is.
std::vector<Rank> random_members(base::Random& random, int ranks) {
  std::vector<Rank> members;
  for (int rank = 0; rank < ranks; ++rank) {
    if (random.chance(0.5)) members.push_back(Rank{rank});
  }
  if (members.empty()) members.push_back(Rank{static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)))});
  return members;
}

bool is_in(const std::vector<Rank>& members, Rank rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

Bytes value_of(Rank rank, std::uint64_t round, std::size_t most) {
  Bytes value(pattern(rank, round, 7) % (most + 1));
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::byte>(pattern(rank, round, i));
  return value;
}

void expect_exchange(Runtime& g, const Group& group, std::uint64_t round, std::size_t most) {
  const auto all = g.allgather(group, value_of(g.rank(), round, most));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), group.members().size());
  for (std::size_t i = 0; i < all->size(); ++i) {
    EXPECT_EQ((*all)[i], value_of(group.members()[i], round, most)) << "round " << round << ", member " << i;
  }
}

struct Owned {
  std::vector<Rank> members;
  Group group;    ///< without members in ranks that are no members
  Memory memory;  ///< the same
  std::vector<void*> address;
  std::vector<std::size_t> bytes;  ///< by member; known to all ranks
};

std::size_t bytes_for(base::Random& random) { return random.chance(0.3) ? 0 : 8 * (1 + random.below(3000)); }

// Members allocate; then every rank learns where.
Owned allocate_together(Runtime& g, base::Random& random) {
  Owned one;
  one.members = random_members(random, g.size());
  for (std::size_t i = 0; i < one.members.size(); ++i) one.bytes.push_back(bytes_for(random));
  Bytes mine(sizeof(void*));
  if (is_in(one.members, g.rank())) {
    one.group = *g.make_group(one.members);
    const auto at = static_cast<std::size_t>(one.group.index_of(g.rank()));
    auto memory = g.allocate(one.group, one.bytes[at]);
    EXPECT_TRUE(memory.ok()) << memory.status().to_string();
    if (memory.ok()) one.memory = *std::move(memory);
    void* address = one.memory.local();
    std::memcpy(mine.data(), &address, sizeof address);
  }
  const auto all = g.allgather(g.world(), mine);
  EXPECT_TRUE(all.ok());
  for (const Rank member : one.members) {
    void* address = nullptr;
    std::memcpy(&address, (*all)[index(member)].data(), sizeof address);
    one.address.push_back(address);
  }
  return one;
}

}  // namespace

WORLD_TEST_ON(Groups, AreSetsOfRanks, group_shapes()) {
  const int last = g.size() - 1;
  std::vector<Rank> backwards;
  for (int rank = last; rank >= 0; --rank) backwards.push_back(Rank{rank});
  const auto all = g.make_group(backwards);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), g.size());
  for (int rank = 0; rank <= last; ++rank) {
    EXPECT_EQ(all->members()[static_cast<std::size_t>(rank)], Rank{rank});
    EXPECT_EQ(g.world().index_of(Rank{rank}), rank);
  }
  EXPECT_EQ(all->index_of(Rank{g.size()}), -1);
  EXPECT_FALSE(all->contains(Rank{-1}));
  EXPECT_EQ(Group().size(), 0);
  EXPECT_CODE(Code::invalid_argument, g.make_group({}).status());
  EXPECT_CODE(Code::invalid_argument, g.make_group(std::vector{g.rank(), g.rank()}).status());
  EXPECT_CODE(Code::invalid_argument, g.make_group(std::vector{g.rank(), Rank{g.size()}}).status());
  EXPECT_CODE(Code::invalid_argument, g.make_group(std::vector{g.rank(), Rank{-1}}).status());
  if (g.size() > 1) {
    const Rank other{(static_cast<int>(index(g.rank())) + 1) % g.size()};
    EXPECT_CODE(Code::invalid_argument, g.make_group(std::vector{other}).status());
  }
  EXPECT_CODE(Code::invalid_argument, g.allocate(Group(), 8).status());
  EXPECT_CODE(Code::invalid_argument, g.free(Group(), Memory()));
  EXPECT_CODE(Code::invalid_argument, g.allgather(Group(), {}).status());
}

// No meeting in between: members run ahead of each other, and letters of many groups lie in an inbox at once.
WORLD_TEST_ON(Groups, ExchangeWhileTheyOverlap, group_shapes()) {
  base::Random random(world_seed());
  const std::size_t most = simulated(g) ? 2000 : 20000;
  for (std::uint64_t round = 0; round < 60; ++round) {
    const auto members = random_members(random, g.size());
    if (is_in(members, g.rank())) expect_exchange(g, *g.make_group(members), round, most);
  }
  expect_exchange(g, g.world(), 60, most);
}

// Far more than an inbox holds, both ways at once.
WORLD_TEST_ON(Groups, ExchangeLongValues, group_shapes()) {
  for (std::uint64_t round = 0; round < 2; ++round) expect_exchange(g, g.world(), round, 300'000);
}

WORLD_TEST_ON(Groups, DisjointOnesGoOnSideBySide, group_shapes()) {
  base::Random random(world_seed());
  for (std::uint64_t round = 0; round < 20; ++round) {
    std::vector<Rank> mine;
    std::vector<std::uint64_t> colour;
    for (int rank = 0; rank < g.size(); ++rank) colour.push_back(random.below(3));
    for (int rank = 0; rank < g.size(); ++rank) {
      if (colour[static_cast<std::size_t>(rank)] == colour[index(g.rank())]) mine.push_back(Rank{rank});
    }
    const Group group = *g.make_group(mine);
    expect_exchange(g, group, round, 1024);
    auto memory = g.allocate(group, 1000);
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    const Rank next = group.members()[static_cast<std::size_t>((group.index_of(g.rank()) + 1) % group.size())];
    const std::uint64_t value = pattern(g.rank(), round, 0);
    EXPECT_OK(g.put(&value, memory->on(next), sizeof value, next));
    EXPECT_OK(g.fence(group));
    EXPECT_TRUE(g.allgather(group, {}).ok());
    const Rank before =
        group.members()[static_cast<std::size_t>((group.index_of(g.rank()) + group.size() - 1) % group.size())];
    EXPECT_EQ(*static_cast<std::uint64_t*>(memory->local()), pattern(before, round, 0));
    EXPECT_OK(g.free(group, *memory));
  }
}

// Put, get, accumulate and an atomic by ranks that were not asked, on every member's part; freed in any order.
WORLD_TEST_ON(Groups, MemoryServesEveryRankUntilItIsFreed, group_shapes()) {
  base::Random random(world_seed());
  std::vector<Owned> owned;
  for (int i = 0; i < 12; ++i) owned.push_back(allocate_together(g, random));
  for (std::size_t i = 0; i < owned.size(); ++i) {
    const Owned& one = owned[i];
    for (std::size_t m = 0; m < one.members.size(); ++m) {
      const Rank target = one.members[m];
      EXPECT_EQ(one.group.size() > 0 ? one.memory.bytes_on(target) : 0, one.group.size() > 0 ? one.bytes[m] : 0);
      if (one.group.size() > 0) {
        EXPECT_EQ(one.memory.on(target), one.address[m]);
      }
      EXPECT_EQ(one.address[m] == nullptr, one.bytes[m] == 0);
      if (one.bytes[m] == 0) continue;
      const std::int64_t mine = static_cast<std::int64_t>(index(g.rank())) + 1;
      EXPECT_OK(g.accumulate(ElementType::int64, nullptr, &mine, one.address[m], 8, target));
      if (one.bytes[m] < 16) continue;
      // Another word: accumulates and read-modify-writes are not atomic against each other.
      auto* words = static_cast<std::uint64_t*>(one.address[m]);
      EXPECT_TRUE(g.fetch_and_add(words + 1, 1000, Width::bits64, target).ok());
      if (one.bytes[m] < 8 * (3 + index(g.rank()))) continue;
      auto* slot = words + 2 + index(g.rank());
      const std::uint64_t value = pattern(g.rank(), i, m);
      std::uint64_t back = 0;
      EXPECT_OK(g.put(&value, slot, sizeof value, target));
      EXPECT_OK(g.get(slot, &back, sizeof back, target));
      EXPECT_EQ(back, value);
    }
    for (int rank = 0; rank < g.size(); ++rank) {
      if (is_in(one.members, Rank{rank})) continue;
      EXPECT_EQ(one.memory.on(Rank{rank}), nullptr);
      EXPECT_EQ(one.memory.bytes_on(Rank{rank}), 0u);
    }
  }
  EXPECT_OK(g.barrier());
  for (const Owned& one : owned) {
    if (one.memory.local() == nullptr) continue;
    const std::int64_t ranks = g.size();
    const auto* words = static_cast<std::int64_t*>(one.memory.local());
    EXPECT_EQ(words[0], ranks * (ranks + 1) / 2);
    if (one.memory.bytes_on(g.rank()) >= 16) {
      EXPECT_EQ(words[1], 1000 * ranks);
    }
  }
  EXPECT_OK(g.barrier());
  while (!owned.empty()) {
    // Empty parts are matched by their order: an allocation in which a rank has none is freed in its turn.
    const std::size_t pick = random.below(owned.size());
    std::size_t at = 0;
    while (at < pick && owned[at].members != owned[pick].members) ++at;
    if (owned[at].group.size() > 0) EXPECT_OK(g.free(owned[at].group, owned[at].memory));
    EXPECT_TRUE(g.allgather(g.world(), {}).ok());
    const auto& gone = owned[at];
    for (std::size_t m = 0; m < gone.members.size(); ++m) {
      if (gone.bytes[m] == 0) continue;
      std::uint64_t value = 0;
      EXPECT_CODE(Code::invalid_argument, g.put(&value, gone.address[m], 8, gone.members[m])) << "it is gone";
      EXPECT_CODE(Code::invalid_argument, g.get(gone.address[m], &value, 8, gone.members[m])) << "it is gone";
    }
    EXPECT_TRUE(g.allgather(g.world(), {}).ok());
    owned.erase(owned.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

// Long and scattered transfers by a rank that is no member, to each member of a group without the first rank.
WORLD_TEST_ON(Groups, StrangersMoveShapesAndPieces, (std::vector<Shape>{{3, 1}, {3, 2}, {3, 3}, {5, 3}, {7, 4}})) {
  std::vector<Rank> members;
  for (int rank = 1; rank < g.size(); ++rank) members.push_back(Rank{rank});
  constexpr std::size_t kBytes = 200'000;
  Group group;
  Memory memory;
  Bytes mine(sizeof(void*));
  if (index(g.rank()) != 0) {
    group = *g.make_group(members);
    auto allocated = g.allocate(group, kBytes);
    ASSERT_TRUE(allocated.ok()) << allocated.status().to_string();
    memory = *allocated;
    void* address = memory.local();
    std::memcpy(mine.data(), &address, sizeof address);
  }
  const auto all = g.allgather(g.world(), mine);
  ASSERT_TRUE(all.ok());
  for (std::size_t i = 0; index(g.rank()) == 0 && i < members.size(); ++i) {
    std::byte* there = nullptr;
    std::memcpy(&there, (*all)[index(members[i])].data(), sizeof there);
    std::vector<std::uint8_t> data(kBytes), back(kBytes);
    for (std::size_t at = 0; at < kBytes; ++at) data[at] = static_cast<std::uint8_t>(pattern(members[i], 1, at));
    EXPECT_OK(g.put(data.data(), there, kBytes, members[i]));
    Strided rows = Strided::contiguous(100);
    rows.levels = 1;
    rows.count[1] = 900;
    rows.stride[0] = 200;
    EXPECT_OK(g.get(there, rows, back.data(), rows, members[i]));
    for (std::size_t at = 0; at < 180'000; ++at) ASSERT_EQ(back[at], at % 200 < 100 ? data[at] : 0) << at;
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at < kBytes; at += 1000) pieces.push_back({back.data() + at, there + at, 1000});
    EXPECT_OK(g.get(pieces, members[i]));
    EXPECT_EQ(back, data);
    EXPECT_CODE(Code::invalid_argument, g.get(there + (std::size_t{1} << 33), back.data(), 8, members[i]));
    Handle handle;
    EXPECT_OK(g.start_put(back.data(), there, kBytes, members[i], &handle));
    EXPECT_OK(g.wait(handle));
    EXPECT_OK(g.fence(members[i]));
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) != 0) {
    for (std::size_t at = 0; at < kBytes; ++at) {
      ASSERT_EQ(static_cast<std::uint8_t*>(memory.local())[at], static_cast<std::uint8_t>(pattern(g.rank(), 1, at)));
    }
    EXPECT_OK(g.free(group, memory));
  }
}

WORLD_TEST_ON(Groups, MistakesAreRefusedForAll, group_shapes()) {
  const Group world = g.world();
  const Group alone = *g.make_group(std::vector{g.rank()});
  auto of_world = g.allocate(world, 100);
  auto of_mine = g.allocate(alone, 100);
  ASSERT_TRUE(of_world.ok() && of_mine.ok());
  if (g.size() > 1) {
    EXPECT_CODE(Code::invalid_argument, g.free(alone, *of_world)) << "another group's";
    EXPECT_CODE(Code::invalid_argument, g.free(world, *of_mine));
  }
  EXPECT_OK(g.free(alone, *of_mine));
  EXPECT_CODE(Code::invalid_argument, g.free(alone, *of_mine)) << "twice";
  const auto too_much = g.allocate(alone, std::size_t{1} << 46);
  EXPECT_CODE(Code::no_memory, too_much.status());
  EXPECT_TRUE(g.allgather(world, {}).ok());
  EXPECT_OK(g.free(world, *of_world));
  EXPECT_CODE(Code::invalid_argument, g.free(world, *of_world)) << "twice";
}

// ---- thousands ----

namespace {

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

// Memory behind the node's segments.
std::size_t segment_bytes() {
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    struct stat status {};
    const bool ours = std::filesystem::read_symlink(entry, gone).string().find("grapnel-segments") != std::string::npos;
    if (ours && ::stat(entry.path().c_str(), &status) == 0) bytes += static_cast<std::size_t>(status.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace

WORLD_TEST_ON(Groups, ThousandsLeaveNothing, (std::vector<Shape>{{4, 1}, {4, 2}})) {
  const int groups = simulated(g) ? 30 : 1000;
  const int allocations = simulated(g) ? 3 : 4;  // of each
  base::Random random(world_seed());
  // Connections are made at first use: every rank uses all of them before anything is counted.
  const auto everywhere = g.allocate(8);
  ASSERT_TRUE(everywhere.ok());
  for (int rank = 0; rank < g.size(); ++rank) {
    EXPECT_TRUE(g.fetch_and_add(everywhere->on(Rank{rank}), 1, Width::bits64, Rank{rank}).ok());
  }
  EXPECT_OK(g.free(*everywhere));
  // Servers connect to each other at their first heartbeat, a second after the start (GRAPNEL_HEARTBEAT_MS).
  if (!simulated(g)) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_TRUE(g.allgather(g.world(), {}).ok());
  const std::size_t descriptors = open_descriptors(), maps = mappings();
  for (int i = 0; i < groups; ++i) {
    const auto members = random_members(random, g.size());
    const std::size_t bytes = 1 + random.below(100'000);
    if (!is_in(members, g.rank())) continue;
    const Group group = *g.make_group(members);
    std::vector<Memory> live;
    for (int k = 0; k < allocations; ++k) {
      auto memory = g.allocate(group, bytes);
      ASSERT_TRUE(memory.ok()) << memory.status().to_string();
      static_cast<char*>(memory->local())[bytes - 1] = 1;
      live.push_back(*std::move(memory));
    }
    for (const Memory& memory : live) EXPECT_OK(g.free(group, memory));
  }
  EXPECT_TRUE(g.allgather(g.world(), {}).ok());
  if (simulated(g)) return;  // the ranks of a simulated world count each other's
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(mappings(), maps + 8) << "the heap may have grown";
  EXPECT_EQ(segment_bytes(), 0u);
  EXPECT_TRUE(g.allgather(g.world(), {}).ok());
}

}  // namespace grapnel::test
