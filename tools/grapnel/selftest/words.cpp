// SPDX-License-Identifier: Apache-2.0
#include "selftest/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace grapnel::tool::selftest {
namespace {

constexpr std::size_t kWord = 64, kFlag = 2048, kData = 4096;  // in the slot
constexpr std::size_t kNotified = 1000;
constexpr int kAdds = 10, kRounds = 5;
constexpr auto kHeld = std::chrono::microseconds(100);
constexpr std::int64_t kSwapped = 77, kCompared = 78;
constexpr std::int32_t kSignal = 7;

std::int64_t word_at(const std::byte* place) {
  std::int64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

void set_word(std::byte* place, std::int64_t word) { std::memcpy(place, &word, sizeof word); }

std::int64_t ground_word(Rank owner, std::size_t place) {
  std::byte bytes[sizeof(std::int64_t)];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = ground(owner, place + i);
  return word_at(bytes);
}

std::int64_t ink_word(Rank origin) {
  std::byte bytes[sizeof(std::int64_t)];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = ink(origin, i);
  return word_at(bytes);
}

Status compare_word(const char* what, std::int64_t found, std::int64_t expected) {
  if (found == expected) return {};
  return {Code::system, fmt::format("{} answered {}, and should have answered {}", what, found, expected)};
}

// What has arrived of the origin's, as the target sees it now.
Status compare_arrived(Scene& scene, std::size_t place, std::size_t bytes, const char* what) {
  Bytes expected(bytes);
  for (std::size_t i = 0; i < bytes; ++i) expected[i] = ink(*scene.origin(), i);
  return scene.compare(scene.own_slot() + place, expected.data(), bytes, what);
}

Status add_once(Scene& scene, Rank home) {
  Runtime& g = scene.runtime();
  std::byte* const number = scene.slot_of(home) + kWord;
  GRAPNEL_TRY(scene.locks().lock(scene.lock_index(), home));
  std::int64_t value = 0;
  GRAPNEL_TRY(g.get(number, &value, sizeof value, home));
  std::this_thread::sleep_for(kHeld);  // another rank inside would read the same number
  ++value;
  GRAPNEL_TRY(g.put(&value, number, sizeof value, home));
  GRAPNEL_TRY(g.fence(home));
  return scene.locks().unlock(scene.lock_index(), home);
}

}  // namespace

Status all_rmw(Scene& scene) {
  if (!scene.target()) return {};
  Runtime& g = scene.runtime();
  const Rank target = *scene.target();
  std::byte* const word = scene.slot_of(target) + kWord;
  std::int64_t expected = ground_word(target, kWord);
  for (int i = 0; i < kAdds; ++i, expected += 3) {
    GRAPNEL_ASSIGN_OR_RETURN(const std::int64_t old, g.fetch_and_add(word, 3, Width::bits64, target));
    GRAPNEL_TRY(compare_word("fetch-and-add", old, expected));
  }
  GRAPNEL_ASSIGN_OR_RETURN(const std::int64_t before_swap, g.swap(word, kSwapped, Width::bits64, target));
  GRAPNEL_TRY(compare_word("swap", before_swap, expected));
  GRAPNEL_ASSIGN_OR_RETURN(const std::int64_t unequal, g.compare_and_swap(word, 1, 2, Width::bits64, target));
  GRAPNEL_TRY(compare_word("compare-and-swap with another value", unequal, kSwapped));
  GRAPNEL_ASSIGN_OR_RETURN(const std::int64_t equal,
                           g.compare_and_swap(word, kSwapped, kCompared, Width::bits64, target));
  return compare_word("compare-and-swap", equal, kSwapped);
}

void expect_rmw(Rank, Rank, std::byte* slot) { set_word(slot + kWord, kCompared); }

Status fetch_and_add(Scene& scene) {
  const Rank target = *scene.target();
  return scene.runtime().fetch_and_add(scene.slot_of(target) + kWord, 1, Width::bits64, target).status();
}

Status update_maximum(Scene& scene) {
  if (!scene.target()) return {};
  const Rank target = *scene.target();
  const std::int64_t mine = ink_word(scene.runtime().rank());
  GRAPNEL_TRY(scene.runtime().update(grapnel::Operation::maximum, NumberType::int64, &mine,
                                     scene.slot_of(target) + kWord, 1, target));
  return scene.runtime().fence(target);
}

void expect_maximum(Rank origin, Rank owner, std::byte* slot) {
  set_word(slot + kWord, std::max(ink_word(origin), ground_word(owner, kWord)));
}

Status fetch_and_update(Scene& scene) {
  const Rank target = *scene.target();
  const std::int64_t mine = 1;
  std::int64_t old = 0;
  return scene.runtime().fetch_and_update(grapnel::Operation::maximum, NumberType::int64, &mine, &old,
                                          scene.slot_of(target) + kWord, 1, target);
}

Status put_and_notify(Scene& scene) {
  Runtime& g = scene.runtime();
  if (const auto target = scene.target()) {
    GRAPNEL_TRY(g.put(scene.source(), scene.slot_of(*target) + kData, kNotified, *target));
    GRAPNEL_TRY(g.notify(*target));
  }
  if (!scene.origin()) return {};
  GRAPNEL_TRY(g.wait_notify(*scene.origin()).status());
  return compare_arrived(scene, kData, kNotified, "what was there after the notification");
}

void expect_notified(Rank origin, Rank, std::byte* slot) {
  for (std::size_t i = 0; i < kNotified; ++i) slot[kData + i] = ink(origin, i);
}

Status notify_and_wait(Scene& scene) {
  // Of the two that take part, rank 0 begins.
  Runtime& g = scene.runtime();
  if (index(g.rank()) != 0) {
    GRAPNEL_TRY(g.wait_notify(Rank{0}).status());
    return g.notify(Rank{0});
  }
  GRAPNEL_TRY(g.notify(*scene.target()));
  return g.wait_notify(*scene.target()).status();
}

Status put_and_signal(Scene& scene) {
  GRAPNEL_TRY(scene.target() ? put_with_signal(scene) : Status{});
  if (!scene.origin()) return {};
  const std::atomic_ref<std::int32_t> flag(*reinterpret_cast<std::int32_t*>(scene.own_slot() + kFlag));
  // Pairs with the release of the origin's signal, by a store here or by the server.
  while (flag.load(std::memory_order_acquire) != kSignal) std::this_thread::sleep_for(std::chrono::microseconds(50));
  return compare_arrived(scene, kWord, 8, "what was there after the signal");
}

void expect_signal(Rank origin, Rank, std::byte* slot) {
  for (std::size_t i = 0; i < 8; ++i) slot[kWord + i] = ink(origin, i);
  std::memcpy(slot + kFlag, &kSignal, sizeof kSignal);
}

Status put_with_signal(Scene& scene) {
  const Rank target = *scene.target();
  std::byte* const slot = scene.slot_of(target);
  GRAPNEL_TRY(scene.runtime().put_and_signal(scene.source(), slot + kWord, 8, slot + kFlag, kSignal, target));
  return scene.runtime().fence(target);
}

Status add_under_lock(Scene& scene) {
  for (int round = 0; round < kRounds; ++round) {
    if (scene.target()) GRAPNEL_TRY(add_once(scene, *scene.target()));
    if (scene.origin()) GRAPNEL_TRY(add_once(scene, scene.runtime().rank()));
  }
  return {};
}

void expect_locked(Rank, Rank owner, std::byte* slot) {
  set_word(slot + kWord, ground_word(owner, kWord) + 2 * kRounds);
}

Status lock_and_unlock(Scene& scene) {
  GRAPNEL_TRY(scene.locks().lock(scene.lock_index(), *scene.target()));
  return scene.locks().unlock(scene.lock_index(), *scene.target());
}

}  // namespace grapnel::tool::selftest
