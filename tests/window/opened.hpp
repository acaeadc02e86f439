// A window in a world, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "window/layout.hpp"
#include "window/windows.hpp"

namespace grapnel::test {

using window::Fault;
using window::Layout;
using window::LayoutPointer;
using window::Outcome;
using window::Side;
using window::TargetSide;
using window::Window;
using window::Windows;

inline Windows& windows_of(Runtime& g) { return g.implementation().core->service<Windows>(); }

inline int me(const Runtime& g) { return static_cast<int>(g.rank()); }

inline std::vector<Rank> everyone(const Runtime& g) {
  std::vector<Rank> all;
  for (int rank = 0; rank < g.size(); ++rank) all.push_back(Rank{rank});
  return all;
}

/// The layout of 64-bit integers that most tests use.
inline const LayoutPointer& int64s() {
  static const LayoutPointer layout = Layout::element(NumberType::int64);
  return layout;
}

inline Side side_of(const void* base, std::int64_t count = 1, const LayoutPointer& layout = int64s()) {
  return {const_cast<void*>(base), layout.get(), count};
}
inline TargetSide target_at(std::int64_t displacement, std::int64_t count = 1, const LayoutPointer& layout = int64s()) {
  return {displacement, layout.get(), count};
}

/// `words` 64-bit integers in each rank; displacements count them.
inline std::shared_ptr<Window> allocate_words(Runtime& g, std::size_t words, const window::Options& options = {}) {
  auto made = windows_of(g).allocate(everyone(g), 8 * words, 8, options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made ? *made : nullptr;
}

inline std::int64_t& word_of(const Window& window, int place, std::size_t word) {
  return static_cast<std::int64_t*>(window.base_of(place))[word];
}

}  // namespace grapnel::test

/// For calls of windows that must succeed.
#define EXPECT_DONE(expression)                                             \
  do {                                                                      \
    const ::grapnel::window::Outcome expect_done_outcome = (expression);    \
    EXPECT_TRUE(expect_done_outcome.ok()) << expect_done_outcome.message(); \
  } while (false)
#define ASSERT_DONE(expression)                                             \
  do {                                                                      \
    const ::grapnel::window::Outcome expect_done_outcome = (expression);    \
    ASSERT_TRUE(expect_done_outcome.ok()) << expect_done_outcome.message(); \
  } while (false)
#define EXPECT_FAULT(fault_wanted, expression)                                               \
  do {                                                                                       \
    const ::grapnel::window::Outcome expect_fault_outcome = (expression);                    \
    EXPECT_EQ(expect_fault_outcome.fault(), fault_wanted) << expect_fault_outcome.message(); \
  } while (false)
