// tsp: the travelling salesman by branch and bound over a shared queue of partial tours and a shared bound.
//
//   grapnel run -n 4 --nodes 2 -- tsp --cities 14 --seed 1 --verify
//   grapnel run -n 4 --nodes 2 -- tsp --file cities.tsp --verify
//
// One lock guards the queue, another one the best tour and its length. A process reads the bound before it takes a tour
// and where it found a shorter one, and otherwise works with its copy: an old bound only prunes less.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cities.hpp"
#include "common/meter.hpp"
#include "common/program.hpp"
#include "common/shared.hpp"
#include "held_karp.hpp"
#include "pool.hpp"
#include "search.hpp"
#include "tsplib.hpp"

namespace {

struct Options {
  std::size_t cities = 12;
  std::uint64_t seed = 1;
  std::string file;
  std::size_t depth = 4;
  bool verify = false;
};

enum LockNumber : unsigned { kPoolLock, kBestLock };

/// What each lock guards begins at a page of its own; the distances never change after the first barrier.
struct Shared {
  tsp::Distances distances;
  alignas(4096) tsp::Pool pool;
  struct Best {
    std::int32_t length;
    std::uint8_t tour[tsp::kMostCities];
  };
  alignas(4096) Best best;
};

/// A global, because Tmk_distribute finds it by its place in the program.
Shared* shared = nullptr;

void set_best(Shared::Best& best, const tsp::PartialTour& tour, std::int32_t length) {
  best.length = length;
  std::copy(tour.tour, tour.tour + tsp::kMostCities, best.tour);
}

/// Null where there is no room.
Shared* make_shared_state(const std::vector<tsp::City>& cities) {
  auto* const state = static_cast<Shared*>(Tmk_malloc(sizeof(Shared)));
  if (state == nullptr) return nullptr;
  state->distances = tsp::distances(cities);
  state->pool.count = 0;
  tsp::put(state->pool, tsp::root(state->distances));
  const tsp::PartialTour first = tsp::greedy(state->distances);
  set_best(state->best, first, tsp::closed_length(state->distances, first));
  return state;
}

std::int32_t current_bound(app::Meter& meter) {
  meter.acquire(kBestLock);
  const std::int32_t bound = shared->best.length;
  meter.release(kBestLock);
  return bound;
}

std::int32_t offer(app::Meter& meter, const tsp::PartialTour& tour, std::int32_t length) {
  meter.acquire(kBestLock);
  if (length < shared->best.length) set_best(shared->best, tour, length);
  const std::int32_t bound = shared->best.length;
  meter.release(kBestLock);
  return bound;
}

app::Seconds solve(std::size_t depth) {
  app::Meter meter;
  const tsp::Found found = [&meter](const tsp::PartialTour& tour, std::int32_t length) {
    return offer(meter, tour, length);
  };
  meter.start();
  while (true) {
    const std::int32_t bound = current_bound(meter);
    meter.acquire(kPoolLock);
    const auto tour = tsp::take(shared->pool, shared->distances, depth, bound);
    meter.release(kPoolLock);
    if (!tour) break;
    tsp::search(shared->distances, *tour, bound, found);
  }
  meter.stop();
  return meter.seconds();
}

std::string tour_line() {
  std::vector<int> cities;
  for (std::size_t i = 0; i < shared->distances.count; ++i) cities.push_back(shared->best.tour[i] + 1);
  return fmt::format("tour        {} cities, length {}: {}\n", cities.size(), shared->best.length,
                     fmt::join(cities, " "));
}

app::Verdict verify(const app::Seconds& mine) {
  const tsp::Distances& distances = shared->distances;
  const std::int32_t found = shared->best.length;
  if (!tsp::is_tour(distances, shared->best.tour)) return app::fail("the tour does not have each city once");
  if (const std::int32_t length = tsp::length_of(distances, shared->best.tour); length != found) {
    return app::fail(fmt::format("the tour has length {}, not {}", length, found));
  }
  double seconds = 0;
  const std::int32_t expected = tsp::sequential(distances, seconds);
  app::print(fmt::format("sequential  {:>12.6f} s, ratio {:.3f}\n", seconds, mine.wall / seconds));
  if (found != expected) return app::fail(fmt::format("length {}; the sequential run finds {}", found, expected));
  if (distances.count > tsp::kMostForHeldKarp) return app::pass(fmt::format("optimum={} as the sequential run", found));
  const std::int32_t optimum = tsp::held_karp(distances);
  if (found != optimum) return app::fail(fmt::format("length {}; dynamic programming finds {}", found, optimum));
  return app::pass(fmt::format("optimum={}", found));
}

/// Process 0 alone reads the file; the others learn of a failure by a null pointer.
app::Verdict work(const Options& options) {
  tsp::ReadResult input;
  app::distribute(shared, [&]() -> Shared* {
    if (options.file.empty()) {
      input.cities = tsp::generate(options.cities, options.seed);
    } else {
      input = tsp::read_tsplib_file(options.file);
    }
    return input.why.empty() ? make_shared_state(input.cities) : nullptr;
  });
  if (shared == nullptr) return input.why.empty() ? app::no_room() : app::fail(input.why);
  const app::Seconds seconds = solve(options.depth);
  if (Tmk_proc_id == 0) app::print(tour_line());
  app::print(app::time_table(seconds));
  if (!options.verify) return app::not_verified();
  return Tmk_proc_id == 0 ? verify(seconds) : app::Verdict{};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto add_options = [&options](CLI::App& line) {
    CLI::Option* cities = line.add_option("-c,--cities", options.cities, "how many are generated (default 12)")
                              ->check(CLI::Range(std::size_t{2}, tsp::kMostCities));
    CLI::Option* seed = line.add_option("-s,--seed", options.seed, "of the generated cities (default 1)");
    line.add_option("-f,--file", options.file, "a TSPLIB file of at most 32 cities, EDGE_WEIGHT_TYPE EUC_2D")
        ->check([](const std::string& path) { return path.empty() ? "an empty name names no file" : ""; })
        ->excludes(cities)
        ->excludes(seed);
    line.add_option("-d,--depth", options.depth, "tours of so many cities are searched by one process (default 4)")
        ->check(CLI::Range(std::size_t{1}, tsp::kMostCities));
    line.add_flag("--verify", options.verify,
                  "compare with a sequential run and, up to 16 cities, with dynamic programming");
  };
  app::run({"tsp", "The travelling salesman in shared memory", add_options, [&options] { return work(options); }}, argc,
           argv);
}
