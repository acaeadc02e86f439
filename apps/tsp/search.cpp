// Nearer cities first, so that good tours are found early.
// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

#include "common/meter.hpp"

namespace tsp {

namespace {

class Search {
 public:
  Search(const Distances& distances, std::int32_t limit, const Found& found)
      : distances_(distances), limit_(limit), found_(found) {}

  void below(const PartialTour& tour) {
    if (tour.cities == distances_.count) {
      const std::int32_t length = closed_length(distances_, tour);
      if (length < limit_) limit_ = found_(tour, length);
      return;
    }
    const std::uint8_t* const nearest = distances_.nearest[tour.last()];
    for (std::size_t i = 0; i + 1 < distances_.count; ++i) {
      if (tour.has(nearest[i])) continue;
      const PartialTour longer = extend(distances_, tour, nearest[i]);
      // Those that follow have longer edges and the same rest.
      if (longer.bound() >= limit_) return;
      below(longer);
    }
  }

 private:
  const Distances& distances_;
  std::int32_t limit_;
  const Found& found_;
};

}  // namespace

PartialTour root(const Distances& distances) {
  PartialTour tour;
  for (std::size_t city = 0; city < distances.count; ++city) tour.rest += distances.shortest[city];
  return tour;
}

PartialTour extend(const Distances& distances, const PartialTour& tour, std::uint8_t city) {
  PartialTour longer = tour;
  longer.length += distances.between[tour.last()][city];
  longer.rest -= distances.shortest[tour.last()];
  longer.visited |= std::uint32_t{1} << city;
  longer.tour[longer.cities++] = city;
  return longer;
}

std::int32_t closed_length(const Distances& distances, const PartialTour& tour) {
  return tour.length + distances.between[tour.last()][0];
}

PartialTour greedy(const Distances& distances) {
  PartialTour tour = root(distances);
  while (tour.cities < distances.count) {
    const std::uint8_t* next = distances.nearest[tour.last()];
    while (tour.has(*next)) ++next;
    tour = extend(distances, tour, *next);
  }
  return tour;
}

void search(const Distances& distances, const PartialTour& start, std::int32_t limit, const Found& found) {
  Search(distances, limit, found).below(start);
}

std::int32_t sequential(const Distances& distances, double& seconds) {
  std::int32_t best = 0;
  seconds = app::seconds_of([&] {
    best = closed_length(distances, greedy(distances));
    search(distances, root(distances), best,
           [&best](const PartialTour&, std::int32_t length) { return best = length; });
  });
  return best;
}

}  // namespace tsp
