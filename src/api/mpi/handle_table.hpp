// A table from a handle of MPI's to an address, read without a lock.
//
//   slots, a power of two:  [handle|value] [ 0 ] [handle|gone] [handle|value] …   the hash's slot, else the next ones
//
// A removed entry leaves its handle in its slot, for readers of the slots after it; an entry with the same handle takes
// the slot again. A table that is half full is copied to a larger one; the old one is kept until the end, for a reader
// may be in it. So memory grows with the most entries at once and not with the number of all.
// Threads: reads any; one writer at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/check.hpp"

namespace grapnel::front {

template <typename Handle>
std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint32_t>(handle);
  }
}

template <typename Handle, typename Value>
class HandleTable {
 public:
  /// `first_slots`, a power of two: more of them where nearly every look-up shall find its slot at once.
  explicit HandleTable(std::size_t first_slots = kFirstSlots) : first_slots_(first_slots) {}

  /// Null: it is not there.
  Value* find(Handle handle) const {
    const Slots* const slots = slots_.load(std::memory_order_acquire);  // pairs with `grow`
    if (slots == nullptr) return nullptr;
    const std::uint64_t number = number_of(handle);
    for (std::size_t at = hash(number) & slots->mask;; at = (at + 1) & slots->mask) {
      const Slot& slot = slots->slots[at];
      const std::uint64_t found = slot.number.load(std::memory_order_acquire);  // pairs with `put`
      if (found == number && number != kFree) return slot.value.load(std::memory_order_acquire);
      if (found == kFree) return nullptr;
    }
  }

  void add(Handle handle, Value* value) {
    GRAPNEL_ASSERT(number_of(handle) != kFree, "a handle of the host has the number of a free slot");
    const Slots* const slots = slots_.load(std::memory_order_relaxed);
    if (slots == nullptr || 2 * (used_ + 1) > slots->mask + 1) grow();
    if (put(*generations_.back(), number_of(handle), value)) ++used_;
    ++size_;
  }

  void remove(Handle handle) {
    if (find(handle) == nullptr) return;
    put(*generations_.back(), number_of(handle), nullptr);
    --size_;
  }

  std::size_t size() const { return size_; }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (generations_.empty()) return;
    for (std::size_t at = 0; at <= generations_.back()->mask; ++at) {
      if (Value* const value = generations_.back()->slots[at].value.load(std::memory_order_relaxed)) visit(value);
    }
  }

 private:
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::size_t kFirstSlots = 64;
  struct Slot {
    std::atomic<std::uint64_t> number{kFree};
    std::atomic<Value*> value{nullptr};
  };
  struct Slots {
    explicit Slots(std::size_t count) : mask(count - 1), slots(new Slot[count]) {}
    const std::size_t mask;
    const std::unique_ptr<Slot[]> slots;
  };

  static std::size_t hash(std::uint64_t number) { return (number * 0x9e3779b97f4a7c15u) >> 32; }

  /// True: the slot was free.
  static bool put(Slots& slots, std::uint64_t number, Value* value) {
    for (std::size_t at = hash(number) & slots.mask;; at = (at + 1) & slots.mask) {
      Slot& slot = slots.slots[at];
      const std::uint64_t found = slot.number.load(std::memory_order_relaxed);
      if (found != number && found != kFree) continue;
      slot.value.store(value, std::memory_order_release);  // before the number: a reader that sees it sees the value
      slot.number.store(number, std::memory_order_release);
      return found == kFree;
    }
  }

  /// To at least four slots for each entry and one more.
  void grow() {
    std::size_t count = first_slots_;
    while (count < 4 * (size_ + 1)) count *= 2;
    auto larger = std::make_unique<Slots>(count);
    used_ = 0;
    if (!generations_.empty()) {
      const Slots& old = *generations_.back();
      for (std::size_t at = 0; at <= old.mask; ++at) {
        Value* const value = old.slots[at].value.load(std::memory_order_relaxed);
        if (value == nullptr) continue;
        put(*larger, old.slots[at].number.load(std::memory_order_relaxed), value);
        ++used_;
      }
    }
    generations_.push_back(std::move(larger));
    slots_.store(generations_.back().get(), std::memory_order_release);
  }

  const std::size_t first_slots_;
  std::atomic<const Slots*> slots_{nullptr};
  std::vector<std::unique_ptr<Slots>> generations_;
  std::size_t used_ = 0, size_ = 0;
};

}  // namespace grapnel::front
