// Random programs without data races, every read of which is checked.
//
// A program has phases between barriers and regions of bytes anywhere in some pages, which do not overlap. In each
// phase a region belongs to one rank, or to a lock, or is read by all. Its content follows from its number and its
// version, so a reader that knows one byte's version knows all; all ranks know from the seed how often each region is
// written. In every third program the regions that begin in a page belong to one rank for some phases, so that homes
// move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dsm/small_heap.hpp"

namespace grapnel::test::random_programs {

inline constexpr int kLocks = 4;

struct Region {
  std::size_t offset = 0, words = 0;
  std::uint64_t version = 0;
};

struct Use {
  enum Kind { owned, locked, read } kind = read;
  int owner = 0;                 ///< rank, or lock
  std::vector<unsigned> writes;  ///< by rank
};

inline std::uint64_t content(std::size_t region, std::uint64_t version, std::size_t word) {
  return word == 0 || version == 0 ? version : pattern(Rank{static_cast<int>(region)}, version, word);
}

// The same in all ranks.
class Program {
 public:
  Program(std::uint64_t seed, int ranks, std::size_t pages)
      : random_(seed),
        ranks_(ranks),
        is_steady_(seed % 3 == 1),
        steady_phases_(seed % 2 == 1 ? 4 : 16),
        owners_(pages) {
    std::size_t at = random_.below(30);
    while (true) {
      const std::size_t words = random_.chance(0.1) ? 1 + random_.below(600) : 1 + random_.below(6);
      if (at + 8 * words > pages * kPage) break;
      regions.push_back({at, words, 0});
      at += 8 * words + (random_.chance(0.5) ? 0 : random_.below(random_.chance(0.2) ? 2000 : 9));
    }
  }

  int phases() const { return is_steady_ ? kSteadyPhases : 5; }

  std::vector<Use> next_phase() {
    std::vector<Use> uses(regions.size());
    if (is_steady_) {
      plan_steady_phase(uses);
      return uses;
    }
    for (Use& use : uses) {
      use.writes.assign(static_cast<std::size_t>(ranks_), 0);
      const auto kind = random_.below(5);
      use.kind = kind < 2 ? Use::owned : kind < 4 ? Use::locked : Use::read;
      if (use.kind == Use::owned) {
        use.owner = static_cast<int>(random_.below(static_cast<std::uint64_t>(ranks_)));
        use.writes[static_cast<std::size_t>(use.owner)] = static_cast<unsigned>(random_.below(3));
      } else if (use.kind == Use::locked) {
        use.owner = static_cast<int>(random_.below(kLocks));
        for (unsigned& writes : use.writes) writes = random_.chance(0.15) ? 1 : 0;
      }
    }
    return uses;
  }

  std::vector<Region> regions;

 private:
  static constexpr int kSteadyPhases = 16;

  void plan_steady_phase(std::vector<Use>& uses) {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    if (phase_++ % steady_phases_ == 0) {
      for (int& owner : owners_) owner = static_cast<int>(random_.below(ranks));
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      Use& use = uses[i];
      use.writes.assign(static_cast<std::size_t>(ranks_), 0);
      use.kind = random_.chance(0.7) ? Use::owned : Use::read;
      use.owner = owners_[regions[i].offset / kPage];
      if (use.kind == Use::owned) {
        use.writes[static_cast<std::size_t>(use.owner)] = static_cast<unsigned>(random_.below(3));
      }
    }
  }

  base::Random random_;
  const int ranks_;
  const bool is_steady_;
  const int steady_phases_;  ///< in which a page's owner is the same
  int phase_ = 0;
  std::vector<int> owners_;  ///< by page
};

class Player {
 public:
  Player(SmallHeap& h, Program& program) : h_(h), program_(program) {}

  void play(const std::vector<Use>& uses, base::Random& random) {
    const auto me = static_cast<std::size_t>(h_.me());
    std::vector<std::size_t> order(uses.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (const std::size_t i : order) {
      Region& region = program_.regions[i];
      const Use& use = uses[i];
      if (use.kind == Use::read) {
        if (random.chance(0.3)) check(i, region.version);
      } else if (use.kind == Use::owned && use.owner == h_.me()) {
        check(i, region.version);
        for (unsigned n = 1; n <= use.writes[me]; ++n) write(i, region.version + n);
        if (random.chance(0.5)) check(i, region.version + use.writes[me]);
      } else if (use.kind == Use::locked && use.writes[me] > 0) {
        h_.lock(use.owner);
        const auto version = h_.get(region.offset);
        if (version < region.version) tell(i, 0, version, region.version);
        check(i, version);
        write(i, version + 1);
        // A lock inside a lock: what is written may become stale before it is released.
        if (use.owner + 1 < kLocks && random.chance(0.4)) {
          h_.lock(use.owner + 1);
          h_.unlock(use.owner + 1);
        }
        h_.unlock(use.owner);
      }
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
      for (const unsigned writes : uses[i].writes) program_.regions[i].version += writes;
    }
  }

  void check(std::size_t i, std::uint64_t version) {
    const Region& region = program_.regions[i];
    for (std::size_t word = 0; word < region.words; ++word) {
      const std::uint64_t found = h_.get(region.offset + 8 * word);
      if (found != content(i, version, word)) tell(i, word, found, version);
    }
  }

  /// Reads that were wrong, and the first of them in words.
  int wrong = 0;
  std::string first;

 private:
  void tell(std::size_t i, std::size_t word, std::uint64_t found, std::uint64_t version) {
    if (wrong++ > 0) return;
    first = "region " + std::to_string(i) + " at " + std::to_string(program_.regions[i].offset) + ", word " +
            std::to_string(word) + " of " + std::to_string(program_.regions[i].words) + ": " + std::to_string(found) +
            ", where version " + std::to_string(version) + " should be";
  }
  void write(std::size_t i, std::uint64_t version) {
    const Region& region = program_.regions[i];
    for (std::size_t word = 0; word < region.words; ++word) {
      h_.set(region.offset + 8 * word, content(i, version, word));
    }
  }

  SmallHeap& h_;
  Program& program_;
};

/// Plays the seed's program in this rank, on pages that hold what an earlier one left; what was wrong, or nothing.
inline std::string play(SmallHeap& h, std::uint64_t seed) {
  constexpr std::size_t kMostPages = 6;
  for (std::size_t at = 8 * static_cast<std::size_t>(h.me()); at < kMostPages * kPage;
       at += 8 * static_cast<std::size_t>(h.size())) {
    if (h.get(at) != 0) h.set(at, std::uint64_t{0});
  }
  h.barrier();
  Program program(seed, h.size(), seed % 2 == 0 ? kMostPages : 2);
  Player player(h, program);
  base::Random random(seed * 1000 + static_cast<std::uint64_t>(h.me()));
  for (int phase = 0; phase < program.phases(); ++phase) {
    player.play(program.next_phase(), random);
    h.barrier();
  }
  for (std::size_t i = 0; i < program.regions.size(); ++i) player.check(i, program.regions[i].version);
  h.barrier();
  return player.first;
}

inline std::string play(Runtime& g, std::uint64_t seed) {
  SmallHeap h(g);
  return play(h, seed);
}

}  // namespace grapnel::test::random_programs
