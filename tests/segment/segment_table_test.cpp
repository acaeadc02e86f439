// Collective allocation with 1 to 5 ranks on 1 to 3 nodes, each rank a thread.
// SPDX-License-Identifier: Apache-2.0
#include "segment/segment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "base/codec.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "segment/member.hpp"

namespace grapnel::segment {
namespace {

using test::FakeLaunch;
using test::FakeWorld;
using test::mapped_segments;
using test::Member;
using test::open_descriptors;
using test::run_ranks;
using test::segment_bytes;

struct Shape {
  int ranks;
  int nodes;
};
class Worlds : public testing::TestWithParam<Shape> {
 protected:
  Worlds() : world_(GetParam().ranks, GetParam().nodes), descriptors_(open_descriptors()) {}
  ~Worlds() override {
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(mapped_segments(), 0u);
  }
  FakeWorld world_;
  const std::size_t descriptors_;
};
INSTANTIATE_TEST_SUITE_P(Segment, Worlds,
                         testing::Values(Shape{1, 1}, Shape{2, 1}, Shape{2, 2}, Shape{3, 1}, Shape{3, 2}, Shape{5, 1},
                                         Shape{5, 2}, Shape{5, 3}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.ranks) + "on" + std::to_string(shape.param.nodes);
                         });

TEST_P(Worlds, ContentsAreSeenByTheRanksOfANode) {
  run_ranks(world_, [](FakeLaunch& launch) {
    Member m(launch);
    const auto bytes_of = [](std::size_t rank) { return 1000 + 70'000 * rank; };
    auto allocation = m.table.allocate(m.world, bytes_of(m.me));
    ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
    EXPECT_EQ(launch.exchanges, 3) << "the cost that the interface promises";
    ASSERT_EQ(allocation->parts.size(), m.world.size());
    auto* mine = static_cast<unsigned char*>(allocation->parts[m.me].address);
    EXPECT_TRUE(std::all_of(mine, mine + bytes_of(m.me), [](unsigned char c) { return c == 0; }));
    std::memset(mine, static_cast<int>(m.me + 1), bytes_of(m.me));
    m.barrier();
    for (std::size_t other = 0; other < m.world.size(); ++other) {
      const Part& part = allocation->parts[other];
      EXPECT_EQ(part.bytes, bytes_of(other));
      const RemoteRegion* region = m.table.find_remote(launch.nodes().node_of[other],
                                                       reinterpret_cast<std::uintptr_t>(part.address), part.bytes);
      EXPECT_EQ(m.table.contains(part.address, part.bytes), m.same_node(other));
      EXPECT_EQ(region == nullptr, m.same_node(other));
      if (!m.same_node(other)) continue;
      const auto* theirs = static_cast<const unsigned char*>(part.address);
      EXPECT_EQ(theirs[0], other + 1);
      EXPECT_EQ(theirs[part.bytes - 1], other + 1);
    }
    EXPECT_EQ(m.table.live_allocations(), 1u);
    ASSERT_TRUE(m.table.free(m.world, mine).ok());
    EXPECT_EQ(m.table.live_allocations(), 0u);
    EXPECT_FALSE(m.table.contains(mine, 1));
    for (std::size_t node = 0; node < launch.nodes().node_count(); ++node) {
      const NodeId id{static_cast<std::int32_t>(node)};
      EXPECT_EQ(m.table.find_remote(id, reinterpret_cast<std::uintptr_t>(mine), 1), nullptr);
    }
  });
}

TEST_P(Worlds, EmptyParts) {
  run_ranks(world_, [](FakeLaunch& launch) {
    Member m(launch);
    const std::size_t last = m.world.size() - 1;
    // Only the last rank has memory; then no rank has, twice; then only the first.
    auto only_last = m.table.allocate(m.world, m.me == last ? 100 : 0);
    auto nobody = m.table.allocate(m.world, 0);
    auto nobody_again = m.table.allocate(m.world, 0);
    auto only_first = m.table.allocate(m.world, m.me == 0 ? 100 : 0);
    ASSERT_TRUE(only_last.ok() && nobody.ok() && nobody_again.ok() && only_first.ok());
    for (std::size_t i = 0; i < m.world.size(); ++i) {
      EXPECT_EQ(only_last->parts[i].address != nullptr, i == last);
      EXPECT_EQ(nobody->parts[i].address, nullptr);
      EXPECT_EQ(only_first->parts[i].address != nullptr, i == 0);
    }
    EXPECT_EQ(m.table.live_allocations(), 4u);
    EXPECT_TRUE(m.table.free(m.world, only_first->parts[m.me].address).ok());
    EXPECT_TRUE(m.table.free(m.world, nullptr).ok());
    EXPECT_TRUE(m.table.free(m.world, only_last->parts[m.me].address).ok());
    EXPECT_TRUE(m.table.free(m.world, nullptr).ok());
    EXPECT_EQ(m.table.free(m.world, nullptr).code(), Code::invalid_argument);
    EXPECT_EQ(m.table.live_allocations(), 0u);
  });
}

TEST_P(Worlds, ThousandsOfAllocationsFreedInAnyOrder) {
  const std::size_t rounds = GetParam().ranks <= 2 ? 3000 : 1000;
  const std::size_t descriptors = open_descriptors();
  std::atomic<std::size_t> most_descriptors{0};
  run_ranks(world_, [&](FakeLaunch& launch) {
    Member m(launch);
    base::Random sizes(m.me);
    base::Random order(7);  // the same in all ranks: collective calls keep their order
    std::vector<std::pair<void*, std::size_t>> live;
    for (std::size_t i = 0; i < rounds; ++i) {
      const std::size_t bytes = 1 + sizes.below(20'000);
      auto allocation = m.table.allocate(m.world, bytes);
      ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
      void* mine = allocation->parts[m.me].address;
      std::memset(mine, static_cast<int>(i), bytes);
      live.emplace_back(mine, bytes);
    }
    m.barrier();
    EXPECT_GT(segment_bytes(), 0u);
    EXPECT_EQ(mapped_segments(), launch.nodes().node_count()) << "a live allocation costs no mapping";
    m.barrier();
    if (m.me == 0) most_descriptors = open_descriptors();
    m.barrier();
    while (!live.empty()) {
      std::swap(live[order.below(live.size())], live.back());
      const auto [mine, bytes] = live.back();
      live.pop_back();
      ASSERT_TRUE(m.table.contains(mine, bytes));
      ASSERT_TRUE(m.table.free(m.world, mine).ok());
      ASSERT_FALSE(m.table.contains(mine, 1));
    }
    m.barrier();
    EXPECT_EQ(segment_bytes(), 0u);
    m.barrier();
  });
  // One of them reads the folder; each has its node's file open.
  EXPECT_LE(most_descriptors.load(), descriptors + 1 + static_cast<std::size_t>(GetParam().ranks))
      << "a live allocation costs no descriptor";
}

TEST_P(Worlds, RefusedAllocationLeavesNothingAndAllHearTheSame) {
  std::mutex mutex;
  std::set<std::string> answers;
  run_ranks(world_, [&](FakeLaunch& launch) {
    Member m(launch);
    for (int i = 0; i < 3; ++i) {
      const bool asks = m.me == m.world.size() - 1;  // one asks too much, the others for little
      auto allocation = m.table.allocate(m.world, asks ? std::size_t{1} << 40 : 100);
      ASSERT_EQ(allocation.status().code(), Code::no_memory);
      EXPECT_EQ(m.table.live_allocations(), 0u);
      if (i > 0) continue;
      const std::lock_guard lock(mutex);
      answers.insert(allocation.status().message());
    }
    auto after = m.table.allocate(m.world, 100);
    EXPECT_TRUE(after.ok()) << "and the table works on";
    EXPECT_TRUE(m.table.free(m.world, after->parts[m.me].address).ok());
  });
  EXPECT_EQ(answers.size(), 1u);
}

TEST_P(Worlds, FullPoolIsRefusedByItsLeaderForAll) {
  // Addresses for 16 MiB only.
  FakeWorld small(GetParam().ranks, GetParam().nodes, 16 * base::kMiB);
  run_ranks(small, [](FakeLaunch& launch) {
    Member m(launch);
    std::vector<void*> live;
    Status status;
    while (status.ok()) {
      auto allocation = m.table.allocate(m.world, 600 * base::kKiB);
      status = allocation.status();
      if (status.ok()) live.push_back(allocation->parts[m.me].address);
    }
    EXPECT_EQ(status.code(), Code::no_memory);
    EXPECT_NE(status.message().find("longest free range"), std::string::npos) << status.message();
    ASSERT_GE(live.size(), 4u);
    // Whatever half-done work there was, is undone: the same amount fits again.
    for (void* mine : live) ASSERT_TRUE(m.table.free(m.world, mine).ok());
    const std::size_t before = live.size();
    live.clear();
    for (std::size_t i = 0; i < before; ++i) {
      auto allocation = m.table.allocate(m.world, 600 * base::kKiB);
      ASSERT_TRUE(allocation.ok());
      live.push_back(allocation->parts[m.me].address);
    }
    for (void* mine : live) ASSERT_TRUE(m.table.free(m.world, mine).ok());
  });
}

TEST_P(Worlds, LostDescriptorIsAnError) {
  if (GetParam().ranks == GetParam().nodes) GTEST_SKIP() << "no descriptors are sent";
  run_ranks(world_, [](FakeLaunch& launch) {
    const auto host = os::make_real_host();
    launch.lose_next_descriptor = index(launch.rank()) == 0;
    const auto table = SegmentTable::create(launch, launch, *host, nullptr);
    if (index(launch.rank()) == 0) {
      EXPECT_NE(table.status().message().find("a planted fault"), std::string::npos);
    }
    EXPECT_TRUE(table.ok() || launch.node() == NodeId{0});
    (void)launch.allgather(launch::make_world(launch.rank(), launch.size()), {});
  });
}

TEST_P(Worlds, MemoryIsZeroWhateverWasWrittenToFreedAddresses) {
  FakeWorld small(GetParam().ranks, GetParam().nodes, 16 * base::kMiB);
  run_ranks(small, [](FakeLaunch& launch) {
    Member m(launch);
    for (int round = 0; round < 40; ++round) {  // through the whole pool
      auto allocation = m.table.allocate(m.world, 300'000);
      ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
      auto* mine = static_cast<unsigned char*>(allocation->parts[m.me].address);
      ASSERT_TRUE(std::all_of(mine, mine + 300'000, [](unsigned char c) { return c == 0; })) << round;
      ASSERT_TRUE(m.table.free(m.world, mine).ok());
      std::memset(mine, 0x5a, 300'000);  // a late write of a faulty program
      m.barrier();
    }
  });
}

TEST_P(Worlds, WrongAddressesAreRefusedForAll) {
  run_ranks(world_, [](FakeLaunch& launch) {
    Member m(launch);
    auto first = m.table.allocate(m.world, 100);
    auto second = m.table.allocate(m.world, 100);
    ASSERT_TRUE(first.ok() && second.ok());
    char* mine = static_cast<char*>(first->parts[m.me].address);
    char* other = static_cast<char*>(second->parts[m.me].address);
    int outside = 0;
    const bool wrong = m.me == m.world.size() - 1;
    for (void* address : {static_cast<void*>(mine + 1), static_cast<void*>(&outside)}) {
      EXPECT_EQ(m.table.free(m.world, wrong ? address : mine).code(), Code::invalid_argument);
    }
    if (m.world.size() > 1) {
      EXPECT_EQ(m.table.free(m.world, wrong ? other : mine).code(), Code::invalid_argument) << "two at once";
      EXPECT_EQ(m.table.free(m.world, wrong ? nullptr : mine).code(), Code::invalid_argument) << "not an empty part";
    }
    EXPECT_TRUE(m.table.contains(mine, 100)) << "nothing was freed";
    EXPECT_EQ(m.table.live_allocations(), 2u);
    EXPECT_TRUE(m.table.free(m.world, mine).ok());
    EXPECT_EQ(m.table.free(m.world, mine).code(), Code::invalid_argument) << "twice";
    EXPECT_TRUE(m.table.free(m.world, other).ok());
  });
}

TEST_P(Worlds, WhatIsNotFreedGoesWithTheTable) {
  run_ranks(world_, [](FakeLaunch& launch) {
    Member m(launch);
    EXPECT_TRUE(m.table.allocate(m.world, 5000).ok());
    EXPECT_TRUE(m.table.allocate(m.world, 0).ok());
  });
}

TEST(SegmentTable, ContainsKnowsTheBounds) {
  FakeWorld world(1, 1);
  run_ranks(world, [](FakeLaunch& launch) {
    Member m(launch);
    auto first = m.table.allocate(m.world, 3 * 65536);
    auto second = m.table.allocate(m.world, 5000);  // rounded to 8192
    auto third = m.table.allocate(m.world, 65536);
    ASSERT_TRUE(first.ok() && second.ok() && third.ok());
    const auto contains = [&](const Allocation& a, std::ptrdiff_t at, std::size_t bytes) {
      return m.table.contains(static_cast<char*>(a.parts[0].address) + at, bytes);
    };
    EXPECT_TRUE(contains(*first, 0, 3 * 65536));
    EXPECT_TRUE(contains(*first, 65535, 2));
    EXPECT_TRUE(contains(*first, 3 * 65536 - 1, 1));
    EXPECT_FALSE(contains(*first, 3 * 65536 - 1, 2)) << "not into the neighbour";
    EXPECT_FALSE(contains(*first, 1, 3 * 65536));
    EXPECT_FALSE(contains(*first, 0, ~std::size_t{0}));
    EXPECT_FALSE(contains(*first, 8, ~std::size_t{0} - 4));
    EXPECT_TRUE(contains(*second, 0, 8192));
    EXPECT_FALSE(contains(*second, 0, 8193));
    EXPECT_FALSE(contains(*second, 8192, 1)) << "the rest of the granule is not mapped";
    EXPECT_FALSE(contains(*second, 60'000, 0));
    const std::uintptr_t base = launch.pool().base();
    const std::size_t pool = launch.pool().bytes();
    for (const std::uintptr_t address :
         {std::uintptr_t{0}, std::uintptr_t{1}, base - 1, base + pool - 1, base + pool, ~std::uintptr_t{0}}) {
      EXPECT_FALSE(m.table.contains(reinterpret_cast<void*>(address), 1)) << address;
      EXPECT_FALSE(m.table.contains(reinterpret_cast<void*>(address), ~std::size_t{0})) << address;
    }
    // Free the middle one: its neighbours stay.
    ASSERT_TRUE(m.table.free(m.world, second->parts[0].address).ok());
    EXPECT_FALSE(contains(*second, 0, 1));
    EXPECT_TRUE(contains(*first, 3 * 65536 - 1, 1));
    EXPECT_TRUE(contains(*third, 0, 65536));
  });
}

// Of the whole machine. Not what is available: the kernel keeps a gibibyte of what was freed in lists that it does not
// count as such.
std::size_t shared_memory_in_use() {
  std::ifstream meminfo("/proc/meminfo");
  std::size_t kib = 0;
  for (std::string word; meminfo >> word;) {
    if (word == "Shmem:") meminfo >> kib;
  }
  return kib * base::kKiB;
}

TEST(SegmentTable, TwoGibibytesAreTakenAtOnceAndGivenBack) {
  FakeWorld world(2, 1);
  const std::size_t part = base::kGiB;
  if (os::memory_available() < 4 * base::kGiB) GTEST_SKIP() << "less than 4 GiB of memory here";
  run_ranks(world, [part](FakeLaunch& launch) {
    Member m(launch);
    m.barrier();
    const std::size_t before = shared_memory_in_use();
    m.barrier();
    auto allocation = m.table.allocate(m.world, part);
    ASSERT_TRUE(allocation.ok()) << allocation.status().to_string();
    // Others use the machine too: half of it is proof enough that nothing was put off.
    EXPECT_GT(shared_memory_in_use(), before + part);
    auto* mine = static_cast<char*>(allocation->parts[m.me].address);
    mine[0] = mine[part - 1] = 1;
    EXPECT_TRUE(m.table.contains(mine, part));
    ASSERT_TRUE(m.table.free(m.world, mine).ok());
    m.barrier();
    EXPECT_LT(shared_memory_in_use(), before + part);
  });
}

// A transport that can be asked to refuse, and whose keys say what was registered.
class FakeTransport final : public transport::Transport {
 public:
  struct Memory final : transport::RegisteredMemory {
    Memory(ByteSpan view, int& count) : bytes(view), alive(count) { ++alive; }
    ~Memory() override { --alive; }
    Bytes key() const override {
      base::Encoder out;
      return out.put(reinterpret_cast<std::uintptr_t>(bytes.data())).put(bytes.size()).take();
    }
    ByteSpan bytes;
    int& alive;
  };
  explicit FakeTransport(bool native) { capabilities_.native_get = native; }
  const transport::Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<transport::Worker>> create_worker(transport::MessageSink&) override {
    return Status(Code::unavailable, "fake");
  }
  Result<std::unique_ptr<transport::RegisteredMemory>> register_memory(ByteSpan memory, transport::Access) override {
    if (refuse) return Status(Code::system, "the card is full");
    return std::unique_ptr<transport::RegisteredMemory>(std::make_unique<Memory>(memory, alive));
  }
  bool refuse = false;
  int alive = 0;

 private:
  transport::Capabilities capabilities_;
};

TEST(SegmentTable, LeadersRegisterAndTheKeysTravel) {
  for (const bool native : {false, true}) {
    FakeWorld world(5, 3);
    run_ranks(world, [native](FakeLaunch& launch) {
      FakeTransport transport(native);
      Member m(launch, &transport);
      auto allocation = m.table.allocate(m.world, 10'000);
      ASSERT_TRUE(allocation.ok());
      EXPECT_EQ(transport.alive, native && launch.leads_node() ? 1 : 0);
      std::set<std::uint64_t> ids;
      for (std::size_t other = 0; other < 5; ++other) {
        if (m.same_node(other)) continue;
        const auto at = reinterpret_cast<std::uintptr_t>(allocation->parts[other].address);
        const RemoteRegion* region = m.table.find_remote(launch.nodes().node_of[other], at, 10'000);
        ASSERT_NE(region, nullptr);
        ids.insert(region->id);
        EXPECT_EQ(m.table.find_remote(launch.nodes().node_of[other], region->begin - 1, 1), nullptr);
        EXPECT_EQ(m.table.find_remote(launch.nodes().node_of[other], region->end - 1, 2), nullptr);
        ASSERT_EQ(region->key.empty(), !native);
        if (!native) continue;
        base::Decoder key(region->key);
        EXPECT_EQ(*key.get<std::uintptr_t>(), region->begin);
        EXPECT_EQ(*key.get<std::size_t>(), region->end - region->begin);
      }
      EXPECT_EQ(ids.size(), 2u);
      ASSERT_TRUE(m.table.free(m.world, allocation->parts[m.me].address).ok());
      EXPECT_EQ(transport.alive, 0);
    });
  }
}

TEST(SegmentTable, RefusedRegistrationUndoesAll) {
  FakeWorld world(5, 2);
  run_ranks(world, [](FakeLaunch& launch) {
    FakeTransport transport(true);
    Member m(launch, &transport);
    transport.refuse = m.me == 3;  // the second node's leader
    auto allocation = m.table.allocate(m.world, 10'000);
    ASSERT_FALSE(allocation.ok());
    EXPECT_EQ(allocation.status().message(), "rank 3: the card is full");
    EXPECT_EQ(transport.alive, 0);
    m.barrier();
    EXPECT_EQ(segment_bytes(), 0u);
    m.barrier();
  });
}

}  // namespace
}  // namespace grapnel::segment
