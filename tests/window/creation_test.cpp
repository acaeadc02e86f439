// How windows are made, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "window/opened.hpp"

namespace grapnel::test {

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
  const std::int64_t one = 1;  // read until the accumulates are complete
  ASSERT_DONE(window.lock_all());
  for (int target = 1; target < g.size(); ++target) {
    EXPECT_EQ(window.bytes_of(target), 8 * static_cast<std::size_t>(target));
    EXPECT_EQ(window.unit_of(target), target % 2 == 0 ? 4 : 8);
    EXPECT_EQ(static_cast<int>(window.part(target).rank), g.size() - 1 - target);
    const std::int64_t last = (target - 1) * 8 / window.unit_of(target);
    ASSERT_DONE(window.accumulate(side_of(&one), target, target_at(last), Operation::sum));
    EXPECT_FAULT(Fault::range, window.put(side_of(&one), target, target_at(last + 1)));
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
      ASSERT_DONE(window.accumulate(side_of(&one), target, target_at(2), Operation::sum));
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
      EXPECT_EQ(window.base_of(place) == nullptr, !contiguous && place % 3 == 1);
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

WORLD_TEST(WindowCreation, OnMemoryOfSegments) {
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
  ASSERT_DONE(window.put(side_of(&value), target, target_at(9)));
  EXPECT_FAULT(Fault::range, window.put(side_of(&value), target, target_at(10)));
  ASSERT_DONE(window.fence({.no_succeed = true}));
  EXPECT_EQ(word_of(window, me(g), 9), 5 + (me(g) + g.size() - 1) % g.size());
  EXPECT_DONE(windows_of(g).free(window));
  EXPECT_OK(g.free(*memory));
}

// Memory on the stack, beside memory of a segment: the same operations, or `unavailable`.
WORLD_TEST(WindowCreation, OnMemoryOfNoSegment) {
  const auto memory = g.allocate(256);
  ASSERT_OK(memory.status());
  std::int64_t own[32] = {};
  void* const base = me(g) % 2 == 0 ? static_cast<void*>(own) : memory->local();
  const auto made = windows_of(g).create(everyone(g), base, sizeof own, 8, {});
  const Status works = g.implementation().rma->copies_work(g.node());
  if (!made) {
    EXPECT_EQ(made.status().code(), Code::unavailable) << made.status().to_string();
    if (g.node_count() == 1) {
      EXPECT_FALSE(works.ok());
    }
    EXPECT_OK(g.free(*memory));
    return;
  }
  Window& window = **made;
  const int target = (me(g) + 1) % g.size(), before = (me(g) + g.size() - 1) % g.size();
  const auto by_two = Layout::repeat(int64s(), 4, 16);
  const std::int64_t values[4] = {1, 2, 3, me(g)};
  std::int64_t old[4] = {-1, -1, -1, -1}, seen = -1, count = -1;
  ASSERT_DONE(window.lock_all());
  ASSERT_DONE(window.put(side_of(values, 4), target, target_at(1, 1, by_two)));
  ASSERT_DONE(window.flush(target));
  ASSERT_DONE(
      window.get_accumulate(side_of(values, 4), side_of(old, 4), target, target_at(1, 1, by_two), Operation::sum));
  ASSERT_DONE(window.fetch_and_op(&values[0], &count, NumberType::int64, 0, 20, Operation::sum));
  ASSERT_DONE(window.flush_all());  // a get may pass an accumulate: a fabric's own get does
  ASSERT_DONE(window.get(side_of(&seen), target, target_at(7)));
  ASSERT_DONE(window.flush_all());
  EXPECT_EQ(old[3], me(g));
  EXPECT_EQ(seen, 2 * me(g));
  EXPECT_TRUE(count >= 0 && count < g.size()) << count;
  EXPECT_FAULT(Fault::range, window.put(side_of(&seen), target, target_at(32)));
  ASSERT_DONE(window.unlock_all());
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(window, me(g), 5), 6);
  EXPECT_EQ(word_of(window, me(g), 7), 2 * before);
  if (me(g) == 0) {
    EXPECT_EQ(word_of(window, 0, 20), g.size());
  }
  EXPECT_DONE(windows_of(g).free(window));
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(WindowCreation, DynamicWindowsReachWhatIsAttached) {
  const auto made = windows_of(g).create_dynamic(everyone(g), {});
  if (!made) {
    EXPECT_EQ(made.status().code(), Code::unavailable) << made.status().to_string();
    return;
  }
  Window& window = **made;
  std::int64_t own[8] = {}, other[8] = {};
  EXPECT_DONE(window.attach(own, sizeof own));
  EXPECT_DONE(window.attach(other, 32));
  EXPECT_FAULT(Fault::attach, window.attach(own + 4, 8));
  EXPECT_FAULT(Fault::attach, window.detach(own + 4));
  auto mine = reinterpret_cast<std::int64_t>(own);
  std::vector<std::int64_t> places(static_cast<std::size_t>(g.size()));
  EXPECT_OK(g.allgather(&mine, places.data(), sizeof mine));
  const int target = (me(g) + 1) % g.size();
  const std::int64_t value = 70 + me(g);
  std::int64_t back = 0;
  ASSERT_DONE(window.lock(target, false));
  ASSERT_DONE(window.put(side_of(&value), target, target_at(places[static_cast<std::size_t>(target)] + 16)));
  ASSERT_DONE(window.flush(target));
  ASSERT_DONE(window.get(side_of(&back), target, target_at(places[static_cast<std::size_t>(target)] + 16)));
  ASSERT_DONE(window.unlock(target));
  EXPECT_EQ(back, value);
  EXPECT_OK(g.barrier());
  EXPECT_EQ(own[2], 70 + (me(g) + g.size() - 1) % g.size());
  EXPECT_DONE(window.detach(own));
  EXPECT_OK(g.barrier());
  ASSERT_DONE(window.lock(target, true));
  const Outcome gone = window.get(side_of(&back), target, target_at(places[static_cast<std::size_t>(target)]));
  const Outcome flushed = window.unlock(target);
  EXPECT_FALSE(gone.ok() && flushed.ok());
  EXPECT_OK(g.barrier());
  EXPECT_DONE(windows_of(g).free(window));
}

WORLD_TEST(WindowCreation, MembersThatDifferAreAllRefused) {
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
  EXPECT_FAULT(Fault::synchronization, window->put(side_of(&value), 0, target_at(0)));
  EXPECT_FAULT(Fault::synchronization, window->flush_all());
  EXPECT_FAULT(Fault::synchronization, window->unlock(0));
  EXPECT_OK(window->may_be_freed().status());
  ASSERT_DONE(window->lock(0, true));
  EXPECT_FAULT(Fault::synchronization, window->may_be_freed());
  EXPECT_FAULT(Fault::synchronization, window->lock(0, true));
  EXPECT_FAULT(Fault::rank, window->put(side_of(&value), end, target_at(0)));
  EXPECT_FAULT(Fault::count, window->put(side_of(&value, -1), 0, target_at(0)));
  EXPECT_FAULT(Fault::count, window->get(side_of(&value), 0, target_at(0, INT64_MAX / 4)));
  EXPECT_FAULT(Fault::type, window->put(side_of(&value), 0, target_at(0, 2)));
  EXPECT_FAULT(Fault::displacement, window->put(side_of(&value), 0, target_at(-1)));
  EXPECT_FAULT(Fault::range, window->put(side_of(&value), 0, target_at(8)));
  EXPECT_FAULT(Fault::range, window->get(side_of(&value), 0, target_at(INT64_MAX)));
  EXPECT_FAULT(Fault::range, window->get(side_of(&value), 0, target_at(INT64_MAX / 8)));
  const auto backwards = Layout::repeat(int64s(), 2, -8);
  EXPECT_FAULT(Fault::range, window->put(side_of(&value, 2), 0, target_at(0, 1, backwards)));
  const auto doubles = Layout::element(NumberType::float64), bytes = Layout::raw_bytes(8);
  EXPECT_FAULT(Fault::type, window->accumulate(side_of(&value, 1, doubles), 0, target_at(0), Operation::sum));
  EXPECT_FAULT(Fault::type, window->accumulate(side_of(&value, 1, bytes), 0, target_at(0, 1, bytes), Operation::sum));
  EXPECT_FAULT(Fault::operation,
               window->accumulate(side_of(&value, 1, doubles), 0, target_at(0, 1, doubles), Operation::bit_and));
  EXPECT_FAULT(Fault::operation, window->fetch_and_op(&value, &old, NumberType::float64, 0, 0, Operation::bit_or));
  EXPECT_FAULT(Fault::type, window->compare_and_swap(&value, &value, &old, 16, 0, 0));
  EXPECT_FAULT(Fault::range, window->fetch_and_op(&value, &old, NumberType::int64, 0, 8, Operation::sum));
  EXPECT_DONE(window->put(side_of(&value, 0), 0, target_at(100, 0)));
  EXPECT_DONE(window->unlock(0));
  EXPECT_OK(g.barrier());
  EXPECT_EQ(word_of(*window, me(g), 0), 0);
  EXPECT_DONE(windows_of(g).free(*window));
}

}  // namespace grapnel::test
