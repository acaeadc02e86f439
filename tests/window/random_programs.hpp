// Random programs on two windows, each rank with a model of what it did. Words of each part, 64 bits each:
//
//   0–3                    counters: got, increased and put under the exclusive lock of the part
//   4                      tickets: fetch_and_op; 5: a sum, by accumulate
//   8 + 12·origin …        of one origin alone: 0–3 by put and get, 4–7 by the accumulate family,
//                          8: relayed, 9: its flag
//
// A relay: an origin writes a number to its word 8 of all parts, flushes all, and then raises its flag in the part of
// one rank. A rank that sees a flag finds at least that number in each part. Both by the accumulate family, because
// others read at the same time: a get's answer leaves straight from the memory, and the simulated network finds that it
// was changed on its way.
//
// The first window's locks are of any kind. The second window has its places backwards. Locks are taken in ascending
// order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "window/opened.hpp"

namespace grapnel::test {

class RandomProgram {
 public:
  RandomProgram(Runtime& g, std::uint64_t seed)
      : g_(g),
        common_(seed),
        random_(seed * 1009 + index(g.rank())),
        size_(g.size()),
        me_(static_cast<int>(g.rank())) {}

  /// Empty: everything was as the model has it. Collective.
  std::string play() {
    if (!make_windows()) return wrong_;
    for (int phase = 0; phase < kPhases; ++phase) {
      for (int step = 0; step < kSteps; ++step) passive_step();
      active_phase();
    }
    judge();
    for (auto& one : windows_) must(windows_of(g_).free(*one.window), "free");
    return wrong_;
  }

 private:
  static constexpr int kPhases = 3, kSteps = 8;
  static constexpr std::size_t kCounters = 4, kTicket = 4, kSum = 5, kFirstOwn = 8, kOwn = 12, kRelayed = 8, kFlag = 9;

  struct Opened {
    std::shared_ptr<Window> window;
    int mine = 0;                                    ///< this rank's place
    std::vector<std::vector<std::uint64_t>> own;     ///< by place: what this rank's words there must hold
    std::vector<std::vector<std::uint64_t>> counts;  ///< by place: how often it increased each counter
    std::vector<std::uint64_t> tickets, sums;        ///< by place
    std::uint64_t relayed = 0;
  };
  struct Expected {
    std::uint64_t* found;
    std::uint64_t wanted;
  };

  static const LayoutPointer& words() {
    static const LayoutPointer layout = Layout::element(NumberType::uint64);
    return layout;
  }
  static const LayoutPointer& every_other() {
    static const LayoutPointer layout = Layout::repeat(words(), 2, 16);
    return layout;
  }

  void must(const Outcome& outcome, const char* what) {
    if (!outcome.ok()) wrong(fmt::format("{}: {}", what, outcome.message()));
  }
  void wrong(std::string what) {
    if (wrong_.empty()) wrong_ = fmt::format("rank {}: {}", me_, what);
  }
  std::size_t own_word(std::size_t word, int of) const {
    return kFirstOwn + kOwn * static_cast<std::size_t>(of) + word;
  }
  std::int64_t own(std::size_t word) const { return static_cast<std::int64_t>(own_word(word, me_)); }
  std::uint64_t& keep(std::uint64_t value) { return kept_.emplace_back(value); }
  int any_place() { return static_cast<int>(random_.below(static_cast<std::uint64_t>(size_))); }
  static Side side(const std::uint64_t& value) { return side_of(&value, 1, words()); }
  static TargetSide target_word(std::int64_t word) { return target_at(word, 1, words()); }

  bool make_windows() {
    std::vector<Rank> order = everyone(g_);
    const std::size_t bytes = 8 * (kFirstOwn + kOwn * order.size());
    for (int i = 0; i < 2; ++i) {
      window::Options options;
      const auto kind = static_cast<int>(LockKind::server_queue) + static_cast<int>(common_.below(8));
      if (i == 0) options.lock_kind = static_cast<LockKind>(kind);
      auto made = windows_of(g_).allocate(order, bytes, 8, options);
      if (!made) {
        wrong("allocate: " + made.status().to_string());
        return false;
      }
      Opened& one = windows_[i];
      one.window = *made;
      one.mine = one.window->my_place();
      const auto places = static_cast<std::size_t>(size_);
      one.own.assign(places, std::vector<std::uint64_t>(kOwn, 0));
      one.counts.assign(places, std::vector<std::uint64_t>(kCounters, 0));
      one.tickets.assign(places, 0);
      one.sums.assign(places, 0);
      std::reverse(order.begin(), order.end());
    }
    return true;
  }

  // ---- what is done in an epoch

  void put_own(Opened& w, int target, window::Pending* pending = nullptr) {
    auto& mine = w.own[static_cast<std::size_t>(target)];
    const std::size_t word = random_.below(2);
    if (pending == nullptr && random_.chance(0.3)) {
      auto& two = kept_pairs_.emplace_back();
      for (std::uint64_t& value : two) value = random_.next();
      mine[word] = two[0];
      mine[word + 2] = two[1];
      must(w.window->put(side_of(two.data(), 2, words()), target, target_at(own(word), 1, every_other())), "put");
      return;
    }
    const std::uint64_t& value = keep(random_.next());
    mine[word] = value;
    must(w.window->put(side(value), target, target_word(own(word)), pending), "put");
  }

  // Only after a flush of what was put there.
  void get_own(Opened& w, int target, window::Pending* pending = nullptr) {
    const std::size_t word = random_.below(4);
    std::uint64_t& found = keep(~std::uint64_t{0});
    expected_.push_back({&found, w.own[static_cast<std::size_t>(target)][word]});
    must(w.window->get(side(found), target, target_word(own(word)), pending), "get");
  }

  static std::uint64_t joined(Operation operation, std::uint64_t a, std::uint64_t b) {
    switch (operation) {
      case Operation::sum: return a + b;
      case Operation::product: return a * b;
      case Operation::maximum: return std::max(a, b);
      case Operation::bit_xor: return a ^ b;
      case Operation::replace: return b;
      default: return a;
    }
  }

  // In program order on each location, whatever was not flushed.
  void update_own(Opened& w, int target) {
    static constexpr Operation kOperations[] = {Operation::sum,     Operation::product, Operation::maximum,
                                                Operation::bit_xor, Operation::replace, Operation::none};
    const Operation operation = kOperations[random_.below(6)];
    const std::size_t word = 4 + random_.below(4);
    std::uint64_t& cell = w.own[static_cast<std::size_t>(target)][word];
    const std::uint64_t before = cell;
    const std::uint64_t& value = keep(random_.below(1000) + 1);
    std::uint64_t& found = keep(~std::uint64_t{0});
    switch (random_.below(4)) {
      case 0:
        must(w.window->accumulate(side(value), target, target_word(own(word)), operation), "accumulate");
        cell = joined(operation, before, value);
        return;
      case 1:
        must(w.window->get_accumulate(side(value), side(found), target, target_word(own(word)), operation),
             "get_accumulate");
        break;
      case 2:
        must(w.window->fetch_and_op(&value, &found, NumberType::uint64, target, own(word), operation), "fetch_and_op");
        break;
      default: {
        const bool swaps = random_.chance(0.5);
        const std::uint64_t compared = swaps ? before : before + 1;
        must(w.window->compare_and_swap(&value, &compared, &found, 8, target, own(word)), "compare_and_swap");
        if (swaps) cell = value;
        expected_.push_back({&found, before});
        return;
      }
    }
    expected_.push_back({&found, before});
    cell = joined(operation, before, value);
  }

  void shared_words(Opened& w, int target) {
    const auto at = static_cast<std::size_t>(target);
    const std::uint64_t& one = keep(1);
    std::uint64_t& ticket = keep(0);
    if (random_.chance(0.5)) {
      must(w.window->fetch_and_op(&one, &ticket, NumberType::uint64, target, kTicket, Operation::sum), "ticket");
      ++w.tickets[at];
    } else {
      must(w.window->accumulate(side(one), target, target_word(kSum), Operation::sum), "sum");
      ++w.sums[at];
    }
  }

  void check_found(const char* after) {
    for (const Expected& one : expected_) {
      if (*one.found != one.wanted) {
        wrong(fmt::format("after {} an operation has found {}; {} was there", after, *one.found, one.wanted));
      }
    }
    expected_.clear();
    kept_.clear();
    kept_pairs_.clear();
  }

  void own_words(Opened& w, int target) {
    for (std::uint64_t i = random_.below(4); i > 0; --i) put_own(w, target);
    for (std::uint64_t i = random_.below(4); i > 0; --i) update_own(w, target);
    if (!random_.chance(0.5)) return;
    must(w.window->flush(target), "flush");
    for (std::uint64_t i = random_.below(3); i > 0; --i) get_own(w, target);
    must(w.window->flush_local(target), "flush_local");  // a put that follows is not beside the gets
  }

  void requests(Opened& w, int target) {
    window::Pending put, got;
    put_own(w, target, &put);
    must(put.wait(), "wait for a put");
    must(w.window->flush(target), "flush");
    get_own(w, target, &got);
    if (random_.chance(0.5)) must(got.wait(), "wait for a get");
  }

  // ---- epochs

  void passive_step() {
    Opened& w = windows_[random_.below(2)];
    switch (random_.below(4)) {
      case 0: return exclusive_step();
      case 1: return shared_step(w);
      case 2: return relay_step(w);
      default: return all_step(w);
    }
  }

  void increase(Opened& w, int target) {
    const std::size_t counter = random_.below(kCounters);
    std::uint64_t& count = keep(0);
    must(w.window->get(side(count), target, target_word(static_cast<std::int64_t>(counter))), "get a counter");
    must(random_.chance(0.5) ? w.window->flush(target) : w.window->flush_local(target), "flush");
    ++count;
    must(w.window->put(side(count), target, target_word(static_cast<std::int64_t>(counter))), "put a counter");
    ++w.counts[static_cast<std::size_t>(target)][counter];
  }

  void exclusive_step() {
    std::vector<std::pair<int, int>> locked;  // window, target
    for (std::uint64_t i = random_.below(3) + 1; i > 0; --i) {
      locked.emplace_back(static_cast<int>(random_.below(2)), any_place());
    }
    std::sort(locked.begin(), locked.end());
    locked.erase(std::unique(locked.begin(), locked.end()), locked.end());
    for (const auto& [i, target] : locked) must(windows_[i].window->lock(target, false), "lock");
    for (const auto& [i, target] : locked) {
      increase(windows_[i], target);
      if (random_.chance(0.5)) own_words(windows_[i], target);
    }
    for (const auto& [i, target] : locked) must(windows_[i].window->unlock(target), "unlock");
    check_found("unlock");
  }

  void shared_step(Opened& w) {
    const int target = any_place();
    must(w.window->lock(target, true), "lock");
    own_words(w, target);
    shared_words(w, target);
    if (random_.chance(0.3)) requests(w, target);
    must(w.window->unlock(target), "unlock");
    check_found("unlock");
  }

  void all_step(Opened& w) {
    must(w.window->lock_all(), "lock_all");
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      const int target = any_place();
      own_words(w, target);
      shared_words(w, target);
    }
    if (random_.chance(0.5)) {
      must(w.window->flush_all(), "flush_all");
      check_found("flush_all");
    }
    look_at_relay(w);
    must(w.window->unlock_all(), "unlock_all");
    check_found("unlock_all");
  }

  void relay_step(Opened& w) {
    const std::uint64_t& number = keep(++w.relayed);
    const int to = any_place();
    must(w.window->lock_all(), "lock_all");
    for (int i = 0, first = any_place(); i < size_; ++i) {
      const int target = (first + i) % size_;
      must(w.window->accumulate(side(number), target, target_word(own(kRelayed)), Operation::replace), "relay");
      w.own[static_cast<std::size_t>(target)][kRelayed] = number;
    }
    must(w.window->flush_all(), "flush_all");
    must(w.window->accumulate(side(number), to, target_word(own(kFlag)), Operation::replace), "flag");
    w.own[static_cast<std::size_t>(to)][kFlag] = number;
    must(w.window->unlock_all(), "unlock_all");
    check_found("unlock_all");
  }

  void look_at_relay(Opened& w) {
    const int of = any_place(), target = any_place();
    std::uint64_t &flag = keep(0), &found = keep(0);
    const auto at = [&](std::size_t word) { return static_cast<std::int64_t>(own_word(word, of)); };
    must(w.window->fetch_and_op(nullptr, &flag, NumberType::uint64, w.mine, at(kFlag), Operation::none), "read a flag");
    must(w.window->flush(w.mine), "flush");
    must(w.window->get_accumulate({}, side(found), target, target_word(at(kRelayed)), Operation::none),
         "read the relayed");
    must(w.window->flush_local(target), "flush_local");
    if (found < flag) {
      wrong(fmt::format("rank {} flagged {} and its word at {} is {}", of, flag, target, found));
    }
  }

  void active_phase() {
    Opened& w = windows_[common_.below(2)];
    if (common_.chance(0.5)) {
      must(w.window->fence({.no_precede = true}), "fence");
      for (int i = 0; i < 3; ++i) {
        const int target = any_place();
        put_own(w, target);
        update_own(w, target);
        must(w.window->fence({.no_succeed = i == 2}), "fence");
        check_found("fence");
      }
      return;
    }
    const std::vector<int> next{(w.mine + 1) % size_}, before{(w.mine + size_ - 1) % size_};
    for (int i = 0; i < 3; ++i) {
      must(w.window->post(before), "post");
      must(w.window->start(next), "start");
      put_own(w, next[0]);
      update_own(w, next[0]);
      must(w.window->complete(), "complete");
      check_found("complete");
      must(w.window->wait(), "wait");
    }
  }

  // ---- the end

  std::vector<std::uint64_t> summed(std::vector<std::uint64_t> mine) {
    std::vector<std::uint64_t> all(mine.size());
    const Status status =
        g_.allreduce(*reduction(Operation::sum, NumberType::uint64), mine.data(), all.data(), mine.size());
    if (!status.ok()) wrong(status.to_string());
    return all;
  }

  void judge() {
    if (const Status met = g_.barrier(); !met.ok()) return wrong(met.to_string());
    for (Opened& w : windows_) {
      std::vector<std::uint64_t> counts;
      for (std::size_t place = 0; place < w.counts.size(); ++place) {
        counts.insert(counts.end(), w.counts[place].begin(), w.counts[place].end());
        counts.push_back(w.tickets[place]);
        counts.push_back(w.sums[place]);
      }
      const auto all = summed(std::move(counts));
      const std::size_t mine = static_cast<std::size_t>(w.mine) * (kCounters + 2);
      for (std::size_t word = 0; word < kCounters + 2; ++word) {
        const auto is = static_cast<std::uint64_t>(word_of(*w.window, w.mine, word));
        if (is != all[mine + word]) wrong(fmt::format("word {} is {}, of {}", word, is, all[mine + word]));
      }
      judge_own(w);
    }
  }

  void judge_own(Opened& w) {
    must(w.window->lock_all(), "lock_all");
    for (int target = 0; target < size_; ++target) {
      std::vector<std::uint64_t> found(kOwn);
      must(w.window->get(side_of(found.data(), kOwn, words()), target, target_at(own(0), kOwn, words())), "get");
      must(w.window->flush_local(target), "flush_local");
      if (found != w.own[static_cast<std::size_t>(target)]) wrong(fmt::format("its words at {} differ", target));
    }
    must(w.window->unlock_all(), "unlock_all");
  }

  Runtime& g_;
  base::Random common_, random_;
  const int size_, me_;
  Opened windows_[2];
  std::deque<std::uint64_t> kept_;
  std::deque<std::array<std::uint64_t, 2>> kept_pairs_;
  std::vector<Expected> expected_;
  std::string wrong_;
};

}  // namespace grapnel::test
