// The list of what a rank has lent: random ranges against a model, and read by others while it changes.
// SPDX-License-Identifier: Apache-2.0
#include "rma/lent_programs.hpp"

namespace grapnel::test {

// Ranges of an address space of 300 places, at most two of a kind.
WORLD_TEST_ON(LentList, RandomRangesAreWhatTheirModelSays, (std::vector<Shape>{{1, 1}, {2, 1}})) {
  constexpr std::size_t kPlaces = 300, kPlaceBytes = 16;
  segment::Lent& lent = lent_of(g);
  base::Random random(world_seed() + index(g.rank()));
  std::vector<int> covered(kPlaces);
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // in places
  const auto at = [](std::size_t place) { return reinterpret_cast<const void*>(0x10000000 + place * kPlaceBytes); };
  for (int step = 0; step < 300; ++step) {
    if (ranges.empty() || random.chance(ranges.size() < 40 ? 0.6 : 0.4)) {
      const std::size_t begin = random.below(kPlaces - 1), end = random.between(begin + 1, kPlaces - 1);
      const std::size_t length = std::min<std::size_t>(end - begin, random.chance(0.8) ? 6 : kPlaces);
      ranges.emplace_back(begin, begin + length);
      ASSERT_OK(lent.lend(at(begin), length * kPlaceBytes));
      for (std::size_t i = begin; i < begin + length; ++i) ++covered[i];
    } else {
      const std::size_t which = random.below(ranges.size());
      const auto [begin, end] = ranges[which];
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(which));
      ASSERT_OK(lent.take_back(at(begin), (end - begin) * kPlaceBytes));
      for (std::size_t i = begin; i < end; ++i) --covered[i];
    }
    for (std::size_t place = 0; place < kPlaces; ++place) {
      const auto address = reinterpret_cast<std::uintptr_t>(at(place));
      std::size_t behind = place;
      while (behind < kPlaces && covered[behind] > 0) ++behind;
      const auto found = lent.find(g.rank(), address);
      ASSERT_EQ(found.holds(address, 1), covered[place] > 0) << place;
      if (covered[place] > 0) {
        ASSERT_EQ(found.end, reinterpret_cast<std::uintptr_t>(at(behind))) << place;
      }
    }
  }
  for (const auto& [begin, end] : ranges) EXPECT_OK(lent.take_back(at(begin), (end - begin) * kPlaceBytes));
  EXPECT_OK(g.barrier());
}

// Rank 0's list grows to thousands of ranges and shrinks; what it never takes back is found at every time.
WORLD_TEST_ON(LentList, IsReadWhileItChanges, (std::vector<Shape>{{2, 1}, {3, 1}})) {
  const int many = world_has_page_tables() ? 6000 : 300;
  segment::Lent& lent = lent_of(g);
  const auto at = [](int place) {
    return reinterpret_cast<const void*>(0x10000000ULL + 32ULL * static_cast<unsigned>(place));
  };
  os::Host& host = *g.implementation().host;
  if (index(g.rank()) == 0) ASSERT_OK(lent.lend(at(many / 2), 16));
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    for (int place = 0; place < many; ++place) {
      if (place != many / 2) ASSERT_OK(lent.lend(at(place), 16));
      if (place % 16 == 0) host.relax();
    }
    for (int place = 0; place < many; ++place) {
      if (place != many / 2) ASSERT_OK(lent.take_back(at(place), 16));
      if (place % 16 == 0) host.relax();
    }
    ASSERT_OK(g.notify(Rank{1}));
  } else if (index(g.rank()) == 1) {
    const auto stays = reinterpret_cast<std::uintptr_t>(at(many / 2));
    for (int look = 0; look < many; ++look) {
      const auto found = lent.find(Rank{0}, stays + 8);
      ASSERT_TRUE(found.begin == stays && found.end == stays + 16) << look;
      const auto place = reinterpret_cast<std::uintptr_t>(at(look));
      const auto other = lent.find(Rank{0}, place);
      ASSERT_TRUE(other.end == 0 || (other.begin == place && other.end == place + 16)) << look;
      if (look % 16 == 0) host.relax();
    }
    ASSERT_OK(g.wait_notify(Rank{0}).status());
  }
  EXPECT_OK(g.barrier());
}

}  // namespace grapnel::test
