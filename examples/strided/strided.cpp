// Strided operations and a shared counter: ranks take the columns of a matrix at rank 0 one by one, double each, and
// put it back. The matrix is stored by rows, so that a column is a row of one number repeated at the stride of a row.
//
//   grapnel run -n 4 --nodes 2 -- strided
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include "grapnel/runtime.hpp"

using grapnel::Rank;

namespace {

constexpr int kRows = 64;
constexpr int kColumns = 48;

struct Shared {
  std::int64_t next_column;
  double matrix[kRows][kColumns];
};

/// kRows numbers, `stride` bytes from one to the next.
grapnel::Strided column_shape(std::int64_t stride) {
  grapnel::Strided shape;
  shape.levels = 1;
  shape.count[0] = sizeof(double);
  shape.count[1] = kRows;
  shape.stride[0] = stride;
  return shape;
}

/// Doubles columns until none is left; how many it were.
grapnel::Result<int> double_columns(grapnel::Runtime& g, Shared* shared) {
  const Rank home{0};
  const grapnel::Strided there = column_shape(sizeof(double) * kColumns);  // as it lies in the matrix
  const grapnel::Strided here = column_shape(sizeof(double));              // packed
  std::vector<double> column(kRows);
  for (int done = 0;; ++done) {
    // Every column goes to one rank, because no two ranks get the same number.
    auto index = g.fetch_and_add(&shared->next_column, 1, grapnel::Width::bits64, home);
    if (!index) return index.status();
    if (*index >= kColumns) return done;
    double* const place = &shared->matrix[0][*index];
    GRAPNEL_TRY(g.get(place, there, column.data(), here, home));
    for (double& value : column) value *= 2;
    GRAPNEL_TRY(g.put(column.data(), here, place, there, home));
  }
}

int run(grapnel::Runtime& g) {
  const auto must = [&g](const grapnel::Status& status) {
    if (!status) g.abort(1, status.to_string());
  };
  const bool is_home = g.rank() == Rank{0};
  auto memory = g.allocate(is_home ? sizeof(Shared) : 0);
  if (!memory) g.abort(1, memory.status().to_string());
  auto* shared = static_cast<Shared*>(memory->on(Rank{0}));  // elsewhere than on rank 0's node: a name, not a pointer
  for (int i = 0; is_home && i < kRows * kColumns; ++i) shared->matrix[i / kColumns][i % kColumns] = i;
  must(g.barrier());

  const auto done = double_columns(g, shared);
  must(done.status());
  must(g.barrier());
  int wrong = 0;
  for (int i = 0; is_home && i < kRows * kColumns; ++i) wrong += shared->matrix[i / kColumns][i % kColumns] != 2.0 * i;
  std::printf("rank %d doubled %d columns\n", static_cast<int>(g.rank()), *done);
  if (is_home) std::printf("%d of %d elements are wrong\n", wrong, kRows * kColumns);
  std::fflush(stdout);
  must(g.free(*memory));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  const int code = run(**started);
  return (*started)->finish() ? code : 1;
}
