// The table has, for each set of cities without city 0 and each of its members, the shortest path from city 0 through
// the set that ends at the member.
// SPDX-License-Identifier: Apache-2.0
#include "held_karp.hpp"

#include <algorithm>
#include <limits>

namespace tsp {

namespace {

constexpr std::int32_t kUnreached = std::numeric_limits<std::int32_t>::max() / 2;

/// `paths[set * others + end]`; city i + 1 is bit i of a set.
class Table {
 public:
  explicit Table(const Distances& distances)
      : distances_(distances),
        others_(distances.count - 1),
        paths_((std::size_t{1} << others_) * others_, kUnreached) {}

  void fill() {
    for (std::size_t end = 0; end < others_; ++end) at(std::size_t{1} << end, end) = distances_.between[0][end + 1];
    for (std::size_t set = 1; set < std::size_t{1} << others_; ++set) {
      for (std::size_t end = 0; end < others_; ++end) {
        if ((set >> end & 1) != 0) extend(set, end);
      }
    }
  }

  std::int32_t shortest_tour() {
    std::int32_t best = kUnreached;
    const std::size_t all = (std::size_t{1} << others_) - 1;
    for (std::size_t end = 0; end < others_; ++end)
      best = std::min(best, at(all, end) + distances_.between[end + 1][0]);
    return best;
  }

 private:
  std::int32_t& at(std::size_t set, std::size_t end) { return paths_[set * others_ + end]; }

  /// The path to `end` through `set`, by one more city each.
  void extend(std::size_t set, std::size_t end) {
    const std::int32_t so_far = at(set, end);
    for (std::size_t next = 0; next < others_; ++next) {
      if ((set >> next & 1) != 0) continue;
      std::int32_t& longer = at(set | std::size_t{1} << next, next);
      longer = std::min(longer, so_far + distances_.between[end + 1][next + 1]);
    }
  }

  const Distances& distances_;
  std::size_t others_;
  std::vector<std::int32_t> paths_;
};

}  // namespace

std::int32_t held_karp(const Distances& distances) {
  Table table(distances);
  table.fill();
  return table.shortest_tour();
}

}  // namespace tsp
