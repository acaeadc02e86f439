// SPDX-License-Identifier: Apache-2.0
#include "os/address_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/units.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::os {
namespace {

constexpr std::size_t kPoolBytes = base::kGiB;

std::unique_ptr<AddressPool> make_pool() {
  auto pool = AddressPool::reserve(0, kPoolBytes);
  EXPECT_TRUE(pool.ok()) << pool.status().to_string();
  return *std::move(pool);
}

Descriptor make_file(std::size_t bytes) {
  auto file = create_shared_file("pool_test", bytes);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  return *std::move(file);
}

TEST(AddressPool, FirstCandidateIsFree) {
  // Also what the sanitizer builds ask: the base has to suit them, with the longest shift too.
  for (const std::uintptr_t shift : {std::uintptr_t{0}, AddressPool::kShiftBytes - kPoolGranuleBytes}) {
    const std::uintptr_t base = AddressPool::candidate_bases().front() + shift;
    const auto pool = AddressPool::reserve(base, std::size_t{1} << 38);
    ASSERT_TRUE(pool.ok()) << pool.status().to_string();
    EXPECT_EQ((*pool)->base(), base);
  }
}

TEST(AddressPool, ShiftsDifferAndKeepToGranules) {
  std::set<std::uintptr_t> shifts;
  for (int i = 0; i < 100; ++i) {
    const std::uintptr_t shift = AddressPool::random_shift();
    EXPECT_LT(shift, AddressPool::kShiftBytes);
    EXPECT_EQ(shift % kPoolGranuleBytes, 0U);
    shifts.insert(shift);
  }
  EXPECT_GT(shifts.size(), 90U);
}

TEST(AddressPool, OccupiedBaseIsRefusedAndTheNextOneTaken) {
  const auto bases = AddressPool::candidate_bases();
  const auto occupant = AddressPool::reserve(bases[0] + 64 * kPoolGranuleBytes, kPoolGranuleBytes);
  ASSERT_TRUE(occupant.ok());
  const std::string before = test::memory_map_between(bases[0], kPoolBytes);
  const auto refused = AddressPool::reserve(bases[0], kPoolBytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::unavailable);
  EXPECT_EQ(test::memory_map_between(bases[0], kPoolBytes), before) << "a refused pool leaves nothing";
  // Each sanitizer occupies some of the others; the last resort is wherever the kernel likes.
  const auto is_free = [](std::uintptr_t base) { return AddressPool::reserve(base, kPoolBytes).ok(); };
  EXPECT_TRUE(std::any_of(bases.begin() + 1, bases.end(), is_free) || is_free(0));
}

TEST(AddressPool, ContentsAreSharedBetweenTwoPlaces) {
  const auto pool = make_pool();
  const std::size_t bytes = 3 * kPoolGranuleBytes;
  const Descriptor file = make_file(bytes);
  ASSERT_TRUE(pool->map(file, pool->base() + kPoolGranuleBytes, bytes).ok());
  auto elsewhere = Mapping::create(file, bytes);
  ASSERT_TRUE(elsewhere.ok());
  auto* here = reinterpret_cast<char*>(pool->base() + kPoolGranuleBytes);
  std::memset(here, 0x5a, bytes);
  EXPECT_EQ(static_cast<char*>(elsewhere->address())[bytes - 1], 0x5a);
  pool->unmap(pool->base() + kPoolGranuleBytes);
  EXPECT_EQ(static_cast<char*>(elsewhere->address())[0], 0x5a) << "the file lives as long as it is mapped somewhere";
}

TEST(AddressPool, TheLastUserUnmaps) {
  const auto pool = make_pool();
  const std::uintptr_t at = pool->base() + 16 * kPoolGranuleBytes;
  const std::string before = test::memory_map_between(pool->base(), kPoolBytes);
  {
    const Descriptor file = make_file(kPoolGranuleBytes);
    ASSERT_TRUE(pool->map(file, at, kPoolGranuleBytes).ok());
    ASSERT_TRUE(pool->map(file, at, kPoolGranuleBytes).ok());
  }
  pool->unmap(at);
  *reinterpret_cast<char*>(at) = 1;  // still there
  EXPECT_NE(test::memory_map_line(reinterpret_cast<void*>(at)).find("rw-s"), std::string::npos);
  pool->unmap(at);
  EXPECT_EQ(test::memory_map_between(pool->base(), kPoolBytes), before) << "the reservation is in one piece again";
}

TEST(AddressPool, WhatIsUnmappedFaults) {
  const auto pool = make_pool();
  const Descriptor file = make_file(kPoolGranuleBytes);
  ASSERT_TRUE(pool->map(file, pool->base(), kPoolGranuleBytes).ok());
  pool->unmap(pool->base());
  const std::string line = test::memory_map_line(reinterpret_cast<void*>(pool->base()));
  EXPECT_NE(line.find("---p"), std::string::npos) << line;
}

TEST(AddressPool, ChildrenDoNotInheritSegments) {
  const auto pool = make_pool();
  const Descriptor file = make_file(kPoolGranuleBytes);
  ASSERT_TRUE(pool->map(file, pool->base(), kPoolGranuleBytes).ok());
  test::Child child([&] { return test::memory_map_line(reinterpret_cast<void*>(pool->base())).empty(); });
  EXPECT_EQ(child.wait(), 0);
}

TEST(AddressPool, RefusesWhatDoesNotFit) {
  const auto pool = make_pool();
  const Descriptor file = make_file(2 * kPoolGranuleBytes);
  const Descriptor other = make_file(2 * kPoolGranuleBytes);
  EXPECT_EQ(pool->map(file, pool->base() + 4096, 4096).code(), Code::invalid_argument);
  EXPECT_EQ(pool->map(file, pool->base() - kPoolGranuleBytes, 4096).code(), Code::invalid_argument);
  EXPECT_EQ(pool->map(file, pool->base() + kPoolBytes - kPoolGranuleBytes, 2 * kPoolGranuleBytes).code(),
            Code::invalid_argument);
  EXPECT_EQ(pool->map(file, pool->base(), 0).code(), Code::invalid_argument);
  const std::uintptr_t at = pool->base() + 8 * kPoolGranuleBytes;
  ASSERT_TRUE(pool->map(file, at, 2 * kPoolGranuleBytes).ok());
  EXPECT_EQ(pool->map(other, at, 2 * kPoolGranuleBytes).code(), Code::invalid_argument) << "another file";
  EXPECT_EQ(pool->map(other, at + kPoolGranuleBytes, 4096).code(), Code::invalid_argument);
  EXPECT_EQ(pool->map(other, at - kPoolGranuleBytes, 2 * kPoolGranuleBytes).code(), Code::invalid_argument);
  EXPECT_TRUE(pool->map(other, at + 2 * kPoolGranuleBytes, 2 * kPoolGranuleBytes).ok());
  EXPECT_TRUE(pool->map(other, at - kPoolGranuleBytes, kPoolGranuleBytes).ok());
}

}  // namespace
}  // namespace grapnel::os
