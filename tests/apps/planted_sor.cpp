// sor with a mistake that costs time and changes no result: every process counts the rows that it has done in an array
// of one counter per process, which lies in one page. The report of the shared heap has to name it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "common/compare.hpp"
#include "common/meter.hpp"
#include "common/program.hpp"
#include "common/shared.hpp"
#include "sor/grid.hpp"

namespace {

using sor::kBlack;
using sor::kRed;

enum BarrierNumber : unsigned { kRedDone = app::kFirstFree, kBlackDone };

constexpr std::size_t kRows = 1024;
constexpr std::size_t kIterations = 20;
constexpr double kOmega = 1.5;

double* grid[2] = {nullptr, nullptr};
unsigned* rows_done = nullptr;  ///< by process

void half_step(app::Meter& meter, sor::Colour own, sor::Colour other, unsigned barrier) {
  const app::Rows inside = app::clip(app::my_rows(kRows), 1, kRows - 1);
  for (std::size_t row = inside.begin; row < inside.end; ++row) {
    sor::update_rows(grid[own], grid[other], kRows, row, row + 1, own, kOmega);
    ++rows_done[Tmk_proc_id];
  }
  meter.barrier(barrier);
}

app::Verdict work() {
  const std::size_t places = sor::row_places(kRows);
  app::distribute(grid[kRed], [=] { return app::allocate<double>(kRows * places); });
  app::distribute(grid[kBlack], [=] { return app::allocate<double>(kRows * places); });
  app::distribute(rows_done, [] { return app::allocate<unsigned>(Tmk_nprocs); });
  if (grid[kRed] == nullptr || grid[kBlack] == nullptr || rows_done == nullptr) return app::no_room();
  const app::Rows mine = app::my_rows(kRows);
  for (const sor::Colour colour : {kRed, kBlack}) {
    for (std::size_t row = mine.begin; row < mine.end; ++row) {
      sor::fill_row(grid[colour] + row * places, kRows, row, colour);
    }
  }
  app::Meter meter;
  meter.start();
  for (std::size_t done = 0; done < kIterations; ++done) {
    half_step(meter, kRed, kBlack, kRedDone);
    half_step(meter, kBlack, kRed, kBlackDone);
  }
  meter.stop();
  if (Tmk_proc_id != 0) return {};
  double seconds = 0;
  const auto expected = sor::sequential(kRows, kIterations, kOmega, seconds);
  for (const sor::Colour colour : {kRed, kBlack}) {
    if (app::compare_bits({grid[colour], expected[colour].size()}, expected[colour]).count != 0) {
      return app::fail("the grid differs from the sequential run");
    }
  }
  return app::pass("differences=0");
}

}  // namespace

int main(int argc, char** argv) {
  app::run({"planted_sor", "sor with a false sharing", [](CLI::App&) {}, [] { return work(); }}, argc, argv);
}
