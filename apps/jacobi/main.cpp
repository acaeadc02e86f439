// jacobi: the five-point Jacobi iteration on two shared grids, rows in blocks per process.
//
//   grapnel run -n 4 --nodes 2 -- jacobi --n 1024 --iterations 100 --verify
//
// Each process initialises and updates its own rows, and reads one row of each neighbour; one barrier per iteration.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "common/compare.hpp"
#include "common/meter.hpp"
#include "common/program.hpp"
#include "common/progress_line.hpp"
#include "common/shared.hpp"
#include "grid.hpp"

namespace {

struct Options {
  std::size_t n = 1024;
  std::size_t iterations = 100;
  bool verify = false;
};

enum BarrierNumber : unsigned { kIteration = app::kFirstFree };

/// Globals, because Tmk_distribute finds them by their place in the program.
double* grid_now = nullptr;
double* grid_next = nullptr;

app::Verdict verify(const Options& options, const app::Seconds& mine) {
  double seconds = 0;
  const std::vector<double> expected = jacobi::sequential(options.n, options.iterations, seconds);
  app::print(fmt::format("sequential  {:>12.6f} s, ratio {:.3f}\n", seconds, mine.wall / seconds));
  const auto difference = app::compare_bits({grid_now, expected.size()}, expected);
  if (difference.count == 0) return app::pass("differences=0");
  return app::fail(fmt::format("differences={}: the first at row {}, column {}", difference.count,
                               difference.first / options.n, difference.first % options.n));
}

app::Seconds iterate(const Options& options) {
  const app::Rows inside = app::clip(app::my_rows(options.n), 1, options.n - 1);
  app::ProgressLine progress("iteration");
  app::Meter meter;
  meter.start();
  for (std::size_t done = 0; done < options.iterations; ++done) {
    jacobi::update_rows(grid_now, grid_next, options.n, inside.begin, inside.end);
    std::swap(grid_now, grid_next);
    meter.barrier(kIteration);
    progress.show(done + 1, options.iterations);
  }
  meter.stop();
  return meter.seconds();
}

app::Verdict work(const Options& options) {
  const std::size_t n = options.n;
  app::distribute(grid_now, [n] { return app::allocate<double>(n * n); });
  app::distribute(grid_next, [n] { return app::allocate<double>(n * n); });
  if (grid_now == nullptr || grid_next == nullptr) return app::no_room();
  const app::Rows mine = app::my_rows(n);
  for (std::size_t row = mine.begin; row < mine.end; ++row) {
    jacobi::fill_row(grid_now + row * n, n, row);
    jacobi::fill_row(grid_next + row * n, n, row);
  }
  const app::Seconds seconds = iterate(options);
  app::print(fmt::format("grid        {} x {}, {} iterations\n", n, n, options.iterations));
  app::print(app::time_table(seconds));
  if (!options.verify) return app::not_verified();
  return Tmk_proc_id == 0 ? verify(options, seconds) : app::Verdict{};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto add_options = [&options](CLI::App& line) {
    line.add_option("-n,--n", options.n, "rows and columns of the grid, with its edge (default 1024)")
        ->check(CLI::Range(std::size_t{3}, std::size_t{100'000}));
    line.add_option("-i,--iterations", options.iterations, "how many (default 100)")
        ->check(CLI::Range(std::size_t{0}, std::size_t{1'000'000'000}));
    line.add_flag("--verify", options.verify, "compare with a sequential run, bit for bit");
  };
  app::run({"jacobi", "Jacobi iteration in shared memory", add_options, [&options] { return work(options); }}, argc,
           argv);
}
