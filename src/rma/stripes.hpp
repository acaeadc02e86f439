// Accumulate's mutual exclusion: a node's memory is divided into stripes, each with one lock word.
//
// The word (a futex):   bit 31: a thread sleeps | bits 30…0: 0 = free, else the owner's mark
//
// The owner's mark is its rank + 1, or, for the server's thread, rank + 1 + job size: the holder that stops a stuck
// job can be read off the word. Local ranks take a stripe with one compare-and-swap and give it back with one store;
// the server only tries (its handlers never wait). An address always maps to one stripe, and an element that lies in
// two takes both, in the order of their words, so accumulates to the same bytes exclude each other, whatever their
// types; a dead owner ends the job, so a waiter only has to notice that.
// Source: armci-multiprotocol, section 2 (mutual exclusion between processes and threads of a node).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "base/units.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/waiting.hpp"

namespace grapnel::rma {

class Stripes {
 public:
  /// Neighbouring data of this size share a stripe; an accumulate takes one lock per stripe that it touches.
  static constexpr std::size_t kStripeBytes = 4096;
  static constexpr std::size_t kCount = 1024;
  static constexpr std::uint64_t kInNode = 0;
  static constexpr std::size_t kNodeMemoryBytes = kCount * 64;

  /// Collective in the order of carving.
  explicit Stripes(launch::Launch& launch)
      : words_(launch.node_memory().carve<Line>(kCount)),
        rank_mark_(static_cast<std::uint32_t>(index(launch.rank())) + 1),
        server_mark_(rank_mark_ + static_cast<std::uint32_t>(launch.size())) {}

  /// Multiplicative hashing spreads equal strides over the words. `space`: kInNode for an address of a segment, which
  /// is the same in all ranks of the node; else the owner's.
  os::Word& word_of(const void* address, std::uint64_t space = kInNode) {
    const auto stripe = reinterpret_cast<std::uintptr_t>(address) / kStripeBytes + (space << 40);
    return words_[(stripe * 0x9e3779b97f4a7c15ULL) >> 54].word;
  }
  /// Not empty, and no longer than a stripe.
  static bool lie_in_one(const std::byte* begin, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    return first / kStripeBytes == (first + bytes - 1) / kStripeBytes;
  }
  /// Whether the word was free, and is the owner's now. acquire: pairs with the release store of the previous owner.
  static bool try_take(os::Word& word, std::uint32_t mark) {
    std::uint32_t free = 0;
    return word.compare_exchange_strong(free, mark, std::memory_order_acquire);
  }
  static void give_back(os::Word& word, os::Host& host) {
    // A look and a store, where an exchange would wait until all that was just accumulated has reached the cache: 10 of
    // 60 ns for 4 KiB. A thread that marks the word as slept on between the two is not woken; so those nap (`kNap_ns`).
    const bool slept_on = (word.load(std::memory_order_relaxed) & kSleepers) != 0;
    word.store(0, std::memory_order_release);
    if (slept_on) [[unlikely]]
      host.wake(word);
  }
  std::uint32_t rank_mark() const { return rank_mark_; }
  std::uint32_t server_mark() const { return server_mark_; }

  static constexpr std::uint32_t kSleepers = std::uint32_t{1} << 31;
  /// Of a thread that sleeps for a stripe.
  static constexpr std::uint64_t kNap_ns = base::kMillisecond_ns;

 private:
  struct alignas(64) Line {
    os::Word word;
  };
  static_assert(kNodeMemoryBytes == kCount * sizeof(Line));
  std::span<Line> words_;
  std::uint32_t rank_mark_, server_mark_;
};

/// Holds the stripe, or the two, of the bytes it was moved to last; consecutive runs in one stripe cost one lock.
class StripeHolder {
 public:
  StripeHolder(progress::Waiting& waiting, Stripes& stripes, std::uint32_t mark)
      : waiting_(waiting), stripes_(stripes), mark_(mark) {}
  ~StripeHolder() { release(); }
  StripeHolder(const StripeHolder&) = delete;
  StripeHolder& operator=(const StripeHolder&) = delete;

  /// Waits. Errors: peer_dead.
  Status hold(const std::byte* begin, std::size_t bytes, std::uint64_t space = Stripes::kInNode) {
    os::Word& word = stripes_.word_of(begin, space);
    if (Stripes::lie_in_one(begin, bytes)) [[likely]]
      return &word == held_ ? Status() : hold_only(word);
    os::Word& next = stripes_.word_of(begin + bytes - 1, space);
    GRAPNEL_TRY(hold_only(*std::min(&word, &next)));
    return &word == &next ? Status() : take(*std::max(&word, &next), second_);
  }

  /// Does not wait; false when it is held.
  bool try_hold(const std::byte* begin, std::size_t bytes, std::uint64_t space = Stripes::kInNode) {
    os::Word& word = stripes_.word_of(begin, space);
    const bool one = Stripes::lie_in_one(begin, bytes);
    if (one && &word == held_) return true;
    release();
    if (!try_take(word, held_)) return false;
    os::Word& next = one ? word : stripes_.word_of(begin + bytes - 1, space);
    return &word == &next || try_take(next, second_);
  }

  void release() {
    if (second_ != nullptr) [[unlikely]]
      give_back(second_);
    if (held_ != nullptr) give_back(held_);
  }

 private:
  Status hold_only(os::Word& word) {
    release();
    return take(word, held_);
  }
  Status take(os::Word& word, os::Word*& held) {
    if (!try_take(word, held)) [[unlikely]] {
      GRAPNEL_TRY(wait_for(word));
      held = &word;
    }
    return {};
  }
  bool try_take(os::Word& word, os::Word*& held) {
    if (!Stripes::try_take(word, mark_)) return false;
    held = &word;
    return true;
  }
  void give_back(os::Word*& held) {
    Stripes::give_back(*held, waiting_.host());
    held = nullptr;
  }
  Status wait_for(os::Word& word);

  progress::Waiting& waiting_;
  Stripes& stripes_;
  const std::uint32_t mark_;
  os::Word* held_ = nullptr;
  os::Word* second_ = nullptr;  ///< only beside the other
};

/// Holds all stripes of some bytes at once, or none: for an update whose old elements leave in one answer, which must
/// not be made twice. The server's: it does not wait.
class AllStripes {
 public:
  static constexpr std::size_t kMost = 32;

  AllStripes(progress::Waiting& waiting, Stripes& stripes) : host_(waiting.host()), stripes_(stripes) {}
  ~AllStripes() {
    for (std::size_t i = 0; i < count_; ++i) Stripes::give_back(*held_[i], host_);
  }
  AllStripes(const AllStripes&) = delete;
  AllStripes& operator=(const AllStripes&) = delete;

  /// In addition to what it holds. False: a stripe is held elsewhere; this object's end releases those that it took.
  /// All bytes together need kMost words at most.
  bool try_hold(const std::byte* begin, std::size_t bytes, std::uint64_t space = Stripes::kInNode) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin) / Stripes::kStripeBytes;
    const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes - 1) / Stripes::kStripeBytes;
    for (auto stripe = first; stripe <= last; ++stripe) {
      os::Word& word = stripes_.word_of(reinterpret_cast<const void*>(stripe * Stripes::kStripeBytes), space);
      if (std::find(held_.begin(), held_.begin() + count_, &word) != held_.begin() + count_) continue;
      if (!Stripes::try_take(word, stripes_.server_mark())) return false;
      GRAPNEL_ASSERT(count_ < kMost, "{} bytes lie in more than {} stripes", bytes, kMost);
      held_[count_++] = &word;
    }
    return true;
  }

 private:
  os::Host& host_;
  Stripes& stripes_;
  std::array<os::Word*, kMost> held_{};
  std::size_t count_ = 0;
};

}  // namespace grapnel::rma
