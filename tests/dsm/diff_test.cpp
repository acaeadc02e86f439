// Diffs of pages: what is made is what is applied, whatever changed, and nothing else is touched.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/diff.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "dsm/changed_bytes.hpp"

namespace grapnel::dsm {
namespace {

struct alignas(64) Page {
  std::byte bytes[os::kPageBytes];
};

void fill_randomly(Page& page, base::Random& random) {
  for (std::byte& one : page.bytes) one = static_cast<std::byte>(random.below(256));
}

TEST(Diff, CarriesExactlyWhatChanged) {
  base::Random random(1);
  for (const double share : {0.0, 0.0003, 0.01, 0.1, 0.5, 1.0}) {
    for (int round = 0; round < 20; ++round) {
      Page twin, page, home;
      fill_randomly(twin, random);
      fill_randomly(home, random);
      page = twin;
      std::vector<std::size_t> changed;
      for (std::size_t i = 0; i < os::kPageBytes; ++i) {
        if (!random.chance(share)) continue;
        page.bytes[i] ^= static_cast<std::byte>(1 + random.below(255));
        changed.push_back(i);
      }
      Page expected = home;
      for (const std::size_t i : changed) expected.bytes[i] = page.bytes[i];
      Bytes diff(kMostDiffBytes);
      EXPECT_EQ(differs(page.bytes, twin.bytes), !changed.empty());
      diff.resize(make_diff(page.bytes, twin.bytes, diff.data()));
      EXPECT_EQ(diff.empty(), changed.empty());
      EXPECT_EQ(std::memcmp(twin.bytes, page.bytes, os::kPageBytes), 0) << "the twin is what was seen";
      if (!diff.empty()) {
        ASSERT_TRUE(is_diff(diff));
        apply_diff(home.bytes, diff);
      }
      EXPECT_EQ(std::memcmp(home.bytes, expected.bytes, os::kPageBytes), 0);
    }
  }
}

// By every instruction set of this processor, and from any alignment: an answer of the wire has none.
TEST(Changes, EveryMethodFindsTheSame) {
  base::Random random(3);
  for (const ChangesMethod& method : changes_methods()) {
    for (int round = 0; round < 200; ++round) {
      Page twin;
      fill_randomly(twin, random);
      Bytes unaligned(os::kPageBytes + 64);
      std::byte* const page = unaligned.data() + random.below(64);
      std::memcpy(page, twin.bytes, os::kPageBytes);
      const double share = 0.02 * static_cast<double>(random.below(5));
      std::uint64_t lines = 0;
      std::array<std::uint64_t, kLines> bytes{};
      for (std::size_t i = 0; i < os::kPageBytes; ++i) {
        if (!random.chance(share)) continue;
        page[i] ^= static_cast<std::byte>(1 + random.below(255));
        lines |= std::uint64_t{1} << (i / kLineBytes);
        bytes[i / kLineBytes] |= std::uint64_t{1} << (i % kLineBytes);
      }
      Changes changes;
      method.find(page, twin.bytes, changes);
      ASSERT_EQ(changes.lines, lines) << method.name;
      std::size_t next = 0;
      for (std::size_t line = 0; line < kLines; ++line) {
        if (bytes[line] == 0) continue;
        ASSERT_EQ(changes.bytes[next++], bytes[line]) << method.name << ", line " << line;
      }
      EXPECT_EQ(changes.count, next);
      EXPECT_EQ(std::memcmp(twin.bytes, page, os::kPageBytes), 0) << method.name;
    }
  }
}

// Words of which part has changed, whole ones, and lines; memory ends where the last changed bytes end.
TEST(ChangedBytes, EveryMethodMovesThemAndNothingElse) {
  base::Random random(4);
  for (const ChangedBytesMethod& method : changed_bytes_methods()) {
    for (int round = 0; round < 300; ++round) {
      Page memory, page;
      fill_randomly(memory, random);
      fill_randomly(page, random);
      Changes changes;
      Bytes packed;
      Page expected = page;
      for (std::size_t line = 0; line < kLines; ++line) {
        std::uint64_t mask = 0;
        for (std::size_t word = 0; word < 8; ++word) {
          constexpr std::uint64_t kPartOf[] = {0, 0xff, 0x3f, 0x81};
          mask |= kPartOf[random.below(4)] << (8 * word);
        }
        if (random.chance(0.3)) mask = random.chance(0.5) ? ~std::uint64_t{0} : 0;
        if (mask == 0) continue;
        changes.lines |= std::uint64_t{1} << line;
        changes.bytes[changes.count++] = mask;
        for (std::size_t i = 0; i < kLineBytes; ++i) {
          if ((mask >> i & 1) == 0) continue;
          expected.bytes[line * kLineBytes + i] = memory.bytes[line * kLineBytes + i];
          packed.push_back(memory.bytes[line * kLineBytes + i]);
        }
      }
      ASSERT_EQ(method.count(std::as_bytes(std::span(changes.bytes)).data(), changes.count), packed.size());
      Page placed = page;
      method.place(placed.bytes, memory.bytes, changes);
      ASSERT_EQ(std::memcmp(placed.bytes, expected.bytes, os::kPageBytes), 0) << method.name;
      Bytes gathered(changes.count * kLineBytes);
      gathered.resize(
          static_cast<std::size_t>(method.gather(gathered.data(), memory.bytes, changes) - gathered.data()));
      ASSERT_EQ(gathered, packed) << method.name;
      method.scatter(page.bytes, packed.data(), changes);
      ASSERT_EQ(std::memcmp(page.bytes, expected.bytes, os::kPageBytes), 0) << method.name;
    }
  }
}

TEST(Diff, OneByteTakes17AndAll4616) {
  Page twin{}, page{};
  Bytes diff(kMostDiffBytes);
  page.bytes[77] = std::byte{1};
  EXPECT_EQ(make_diff(page.bytes, twin.bytes, diff.data()), 17U);
  for (std::byte& one : page.bytes) one ^= std::byte{2};
  EXPECT_EQ(make_diff(page.bytes, twin.bytes, diff.data()), 4616U);
  EXPECT_EQ(kMostDiffBytes, 4616U);
}

TEST(Diff, AMergeKeepsWhatThisNodeWrote) {
  base::Random random(2);
  for (int round = 0; round < 100; ++round) {
    Page twin, page, answer;
    fill_randomly(twin, random);
    page = answer = twin;
    Page expected = twin;
    for (std::size_t i = 0; i < os::kPageBytes; ++i) {
      const auto change = static_cast<std::byte>(1 + random.below(255));
      if (random.chance(0.05)) {
        expected.bytes[i] = page.bytes[i] ^= change;  // mine
      } else if (random.chance(0.05)) {
        expected.bytes[i] = answer.bytes[i] ^= change;  // the others'
      }
    }
    merge(page.bytes, twin.bytes, answer.bytes);
    EXPECT_EQ(std::memcmp(page.bytes, expected.bytes, os::kPageBytes), 0);
    EXPECT_EQ(std::memcmp(twin.bytes, answer.bytes, os::kPageBytes), 0);
  }
}

TEST(Diff, WhatIsNoneIsFound) {
  Page twin{}, page{};
  for (std::size_t i = 0; i < 300; i += 3) page.bytes[i] = std::byte{9};
  Bytes diff(kMostDiffBytes);
  diff.resize(make_diff(page.bytes, twin.bytes, diff.data()));
  EXPECT_TRUE(is_diff(diff));
  for (std::size_t bytes = 0; bytes < diff.size(); ++bytes) EXPECT_FALSE(is_diff(ByteView(diff).first(bytes)));
  diff.push_back(std::byte{});
  EXPECT_FALSE(is_diff(diff));
}

}  // namespace
}  // namespace grapnel::dsm
