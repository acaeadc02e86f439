// How windows are made, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "window/opened.hpp"

namespace grapnel::test {
namespace {

int me(const Runtime& g) { return static_cast<int>(g.rank()); }

}  // namespace

// Places are in the order in which their maker named the ranks: here the ranks backwards, with parts and units of
// different lengths.
WORLD_TEST(WindowCreation, PlacesAreInTheMakersOrder) {
  std::vector<Rank> backwards = everyone(g);
  std::reverse(backwards.begin(), backwards.end());
  const int place = g.size() - 1 - me(g);
  const auto bytes = 8 * static_cast<std::size_t>(place), unit = static_cast<std::size_t>(place % 2 == 0 ? 4 : 8);
  const auto made = windows_of(g).allocate(backwards, bytes, static_cast<std::int64_t>(unit), {});
  ASSERT_OK(made.status());
  Window& window = **made;
  EXPECT_EQ(window.my_place(), place);
  EXPECT_EQ(window.size(), g.size());
  ASSERT_DONE(window.lock_all());
  for (int target = 1; target < g.size(); ++target) {
    EXPECT_EQ(window.bytes_of(target), 8 * static_cast<std::size_t>(target));
    EXPECT_EQ(window.unit_of(target), target % 2 == 0 ? 4 : 8);
    EXPECT_EQ(static_cast<int>(window.part(target).rank), g.size() - 1 - target);
    const std::int64_t one = 1, last = (target - 1) * 8 / window.unit_of(target);
    ASSERT_DONE(window.accumulate(side_of(&one), target, place_at(last), Operation::sum));
    EXPECT_FAULT(Fault::range, window.put(side_of(&one), target, place_at(last + 1)));
  }
  ASSERT_DONE(window.unlock_all());
  EXPECT_OK(g.barrier());
  if (place > 0) {
    EXPECT_EQ(word_of(window, place, static_cast<std::size_t>(place) - 1), g.size());
  }
  EXPECT_DONE(windows_of(g).free(window));
}

WORLD_TEST(WindowCreation, OfSomeRanks) {
  std::vector<Rank> members;
  for (int rank = g.size() - 1; rank >= 0; rank -= 2) members.push_back(Rank{rank});
  const bool is_member = std::find(members.begin(), members.end(), g.rank()) != members.end();
  if (is_member) {
    const auto made = windows_of(g).allocate(members, 64, 8, {});
    ASSERT_OK(made.status());
    Window& window = **made;
    for (int target = 0; target < window.size(); ++target) {
      const std::int64_t one = 1;
      ASSERT_DONE(window.lock(target, true));
      ASSERT_DONE(window.accumulate(side_of(&one), target, place_at(2), Operation::sum));
      ASSERT_DONE(window.unlock(target));
    }
    ASSERT_DONE(window.fence({.no_precede = false, .no_succeed = true}));
    EXPECT_EQ(word_of(window, window.my_place(), 2), window.size());
    EXPECT_DONE(windows_of(g).free(window));
  }
  EXPECT_OK(g.barrier());
}

WORLD_TEST(WindowCreation, SharedMemoryIsInOnePieceUnlessAskedOtherwise) {
  for (const bool contiguous : {true, false}) {
    window::Options options;
    options.contiguous = contiguous;
    const std::size_t mine = me(g) % 3 == 1 ? 0 : 24;
    const auto made = windows_of(g).allocate_shared(everyone(g), mine, 8, options);
    if (g.node_count() > 1) {
      EXPECT_EQ(made.status().code(), Code::unavailable) << made.status().to_string();
      continue;
    }
    ASSERT_OK(made.status());
    Window& window = **made;
    auto* next = static_cast<std::byte*>(window.base_of(0));
    for (int place = 0; place < window.size(); ++place) {
      if (contiguous) {
        EXPECT_EQ(window.base_of(place), next);
      }
      next += window.bytes_of(place);
      EXPECT_EQ(window.bytes_of(place), place % 3 == 1 ? 0U : 24U);
    }
    ASSERT_DONE(window.lock_all());
    if (mine > 0) word_of(window, me(g), 2) = me(g) + 1;
    ASSERT_DONE(window.sync());
    EXPECT_OK(g.barrier());
    ASSERT_DONE(window.sync());
    for (int place = 0; place < window.size(); place += 3) EXPECT_EQ(word_of(window, place, 2), place + 1);
    ASSERT_DONE(window.unlock_all());
    EXPECT_DONE(windows_of(g).free(window));
  }
}

WORLD_TEST(WindowCreation, OnMemoryOfSegmentsAndOnNoOther) {
  const auto memory = g.allocate(4096);
  ASSERT_OK(memory.status());
  auto* const mine = static_cast<std::byte*>(memory->local());
  const auto made = windows_of(g).create(everyone(g), mine + 8, 80, 8, {});
  ASSERT_OK(made.status());
  Window& window = **made;
  EXPECT_EQ(window.base_of(window.my_place()), mine + 8);
  const std::int64_t value = 5 + me(g);
  const int target = (me(g) + 1) % g.size();
  ASSERT_DONE(window.fence());
  ASSERT_DONE(window.put(side_of(&value), target, place_at(9)));
  EXPECT_FAULT(Fault::range, window.put(side_of(&value), target, place_at(10)));
  ASSERT_DONE(window.fence({.no_succeed = true}));
  EXPECT_EQ(word_of(window, me(g), 9), 5 + (me(g) + g.size() - 1) % g.size());
  EXPECT_DONE(windows_of(g).free(window));
  std::int64_t own[4] = {};
  const auto refused =
      windows_of(g).create(everyone(g), me(g) == g.size() - 1 ? static_cast<void*>(own) : mine, 32, 8, {});
  EXPECT_EQ(refused.status().code(), Code::unavailable);
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(WindowCreation, MembersThatDifferAreRefusedAlike) {
  window::Options options;
  options.no_locks = me(g) == 0;
  const auto made = windows_of(g).allocate(everyone(g), 8, 8, options);
  EXPECT_EQ(made.status().code(), g.size() == 1 ? Code::ok : Code::invalid_argument) << made.status().to_string();
  if (made) EXPECT_DONE(windows_of(g).free(**made));
  options = {};
  options.same_unit = true;
  const auto units = windows_of(g).allocate(everyone(g), 8, me(g) == 0 ? 1 : 2, options);
  EXPECT_EQ(units.status().code(), g.size() == 1 ? Code::ok : Code::invalid_argument) << units.status().to_string();
  if (units) EXPECT_DONE(windows_of(g).free(**units));
  EXPECT_EQ(windows_of(g).allocate(everyone(g), 8, me(g) == g.size() - 1 ? 0 : 1, {}).status().code(),
            Code::invalid_argument);
  const auto longest = windows_of(g).allocate(everyone(g), std::size_t{1} << 45, 1, {});
  EXPECT_EQ(longest.status().code(), Code::no_memory) << longest.status().to_string();
  options = {};
  options.no_locks = true;
  const auto without = windows_of(g).allocate(everyone(g), 8, 1, options);
  ASSERT_OK(without.status());
  EXPECT_FAULT(Fault::synchronization, (*without)->lock(0, true));
  EXPECT_FAULT(Fault::synchronization, (*without)->lock_all());
  EXPECT_DONE((*without)->fence());
  EXPECT_DONE(windows_of(g).free(**without));
}

// A call with a wrong argument changes nothing: afterwards the window is still in no epoch.
WORLD_TEST(WindowCreation, WrongArgumentsAreNamed) {
  const auto window = allocate_words(g, 8);
  ASSERT_NE(window, nullptr);
  std::int64_t value = 1, old = 0;
  const int end = g.size();
  EXPECT_FAULT(Fault::rank, window->lock(end, true));
  EXPECT_FAULT(Fault::rank, window->lock(-1, true));
  EXPECT_FAULT(Fault::synchronization, window->put(side_of(&value), 0, place_at(0)));
  EXPECT_FAULT(Fault::synchronization, window->flush_all());
  EXPECT_FAULT(Fault::synchronization, window->unlock(0));
  EXPECT_OK(window->may_be_freed().status());
  ASSERT_DONE(window->lock(0, true));
  EXPECT_FAULT(Fault::synchronization, window->may_be_freed());
  EXPECT_FAULT(Fault::synchronization, window->lock(0, true));
  EXPECT_FAULT(Fault::rank, window->put(side_of(&value), end, place_at(0)));
  EXPECT_FAULT(Fault::count, window->put(side_of(&value, -1), 0, place_at(0)));
  EXPECT_FAULT(Fault::count, window->get(side_of(&value), 0, place_at(0, INT64_MAX / 4)));
  EXPECT_FAULT(Fault::type, window->put(side_of(&value), 0, place_at(0, 2)));
  EXPECT_FAULT(Fault::displacement, window->put(side_of(&value), 0, place_at(-1)));
  EXPECT_FAULT(Fault::range, window->put(side_of(&value), 0, place_at(8)));
  EXPECT_FAULT(Fault::range, window->get(side_of(&value), 0, place_at(INT64_MAX)));
  EXPECT_FAULT(Fault::range, window->get(side_of(&value), 0, place_at(INT64_MAX / 8)));
  const auto backwards = Layout::repeat(int64s(), 2, -8);
  EXPECT_FAULT(Fault::range, window->put(side_of(&value, 2), 0, place_at(0, 1, backwards)));
  const auto doubles = Layout::element(NumberType::float64), bytes = Layout::raw_bytes(8);
  EXPECT_FAULT(Fault::type, window->accumulate(side_of(&value, 1, doubles), 0, place_at(0), Operation::sum));
  EXPECT_FAULT(Fault::type, window->accumulate(side_of(&value, 1, bytes), 0, place_at(0, 1, bytes), Operation::sum));
  EXPECT_FAULT(Fault::operation,
               window->accumulate(side_of(&value, 1, doubles), 0, place_at(0, 1, doubles), Operation::bit_and));
  EXPECT_FAULT(Fault::operation, window->fetch_and_op(&value, &old, NumberType::float64, 0, 0, Operation::bit_or));
  EXPECT_FAULT(Fault::type, window->compare_and_swap(&value, &value, &old, 16, 0, 0));
  EXPECT_FAULT(Fault::range, window->fetch_and_op(&value, &old, NumberType::int64, 0, 8, Operation::sum));
  EXPECT_DONE(window->put(side_of(&value, 0), 0, place_at(100, 0)));
  EXPECT_DONE(window->unlock(0));
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(*window, me(g), 0), 0);
  EXPECT_DONE(windows_of(g).free(*window));
}

}  // namespace grapnel::test
