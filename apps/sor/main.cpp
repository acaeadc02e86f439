// sor: red-black successive over-relaxation on a shared grid, rows in blocks per process.
//
//   grapnel run -n 4 --nodes 2 -- sor --n 1024 --iterations 100 --verify
//
// Each process initialises and updates its own rows, and reads one row of each neighbour; two barriers per iteration,
// one after the red points and one after the black ones.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/compare.hpp"
#include "common/meter.hpp"
#include "common/program.hpp"
#include "common/progress_line.hpp"
#include "common/shared.hpp"
#include "grid.hpp"

namespace {

using sor::kBlack;
using sor::kRed;

struct Options {
  std::size_t n = 1024;
  std::size_t iterations = 100;
  double omega = 1.5;
  bool verify = false;
};

enum BarrierNumber : unsigned { kRedDone = app::kFirstFree, kBlackDone };

/// Both arrays, by colour. A global, because Tmk_distribute finds it by its place in the program.
double* grid[2] = {nullptr, nullptr};

app::Verdict verify(const Options& options, const app::Seconds& mine) {
  double seconds = 0;
  const auto expected = sor::sequential(options.n, options.iterations, options.omega, seconds);
  app::print(fmt::format("sequential  {:>12.6f} s, ratio {:.3f}\n", seconds, mine.wall / seconds));
  for (const sor::Colour colour : {kRed, kBlack}) {
    const auto difference = app::compare_bits({grid[colour], expected[colour].size()}, expected[colour]);
    if (difference.count == 0) continue;
    const std::size_t places = sor::row_places(options.n);
    return app::fail(fmt::format("differences={} of the {} points: the first in row {}, place {}", difference.count,
                                 colour == kRed ? "red" : "black", difference.first / places,
                                 difference.first % places));
  }
  return app::pass("differences=0");
}

app::Seconds iterate(const Options& options) {
  const app::Rows inside = app::clip(app::my_rows(options.n), 1, options.n - 1);
  app::ProgressLine progress("iteration");
  app::Meter meter;
  meter.start();
  for (std::size_t done = 0; done < options.iterations; ++done) {
    sor::update_rows(grid[kRed], grid[kBlack], options.n, inside.begin, inside.end, kRed, options.omega);
    meter.barrier(kRedDone);
    sor::update_rows(grid[kBlack], grid[kRed], options.n, inside.begin, inside.end, kBlack, options.omega);
    meter.barrier(kBlackDone);
    progress.show(done + 1, options.iterations);
  }
  meter.stop();
  return meter.seconds();
}

app::Verdict work(const Options& options) {
  const std::size_t n = options.n;
  const std::size_t places = sor::row_places(n);
  app::distribute(grid[kRed], [=] { return app::allocate<double>(n * places); });
  app::distribute(grid[kBlack], [=] { return app::allocate<double>(n * places); });
  if (grid[kRed] == nullptr || grid[kBlack] == nullptr) return app::no_room();
  const app::Rows mine = app::my_rows(n);
  for (const sor::Colour colour : {kRed, kBlack}) {
    for (std::size_t row = mine.begin; row < mine.end; ++row) {
      sor::fill_row(grid[colour] + row * places, n, row, colour);
    }
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
    line.add_option("--omega", options.omega, "the relaxation factor (default 1.5)")->check(CLI::Range(0.0, 2.0));
    line.add_flag("--verify", options.verify, "compare with a sequential run, bit for bit");
  };
  app::run({"sor", "Red-black successive over-relaxation in shared memory", add_options,
            [&options] { return work(options); }},
           argc, argv);
}
