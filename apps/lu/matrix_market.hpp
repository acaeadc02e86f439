// Reads a square real matrix in the Matrix Market exchange format.
//
// Taken: coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric. Refused with the file,
// the line and the reason: everything else, numbers that are not finite, indices out of range, elements given twice,
// too few or too many lines. Comments and empty lines may stand anywhere after the first line, as programs write them.
//
// Source: R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats: Initial Design, NISTIR 5935, 1996.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <variant>
#include <vector>

namespace lu {

/// One element, indices from 0. Symmetric files are already expanded: both triangles are present.
struct Entry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

struct SparseMatrix {
  std::int64_t n = 0;
  /// Sorted by column, then row; no position occurs twice.
  std::vector<Entry> entries;
};

/// "file:line: what is wrong", fit to be shown.
struct ReadFailure {
  std::string message;
};

using ReadResult = std::variant<SparseMatrix, ReadFailure>;

/// `name` is what messages call the stream.
ReadResult read_matrix_market(std::istream& input, const std::string& name);
ReadResult read_matrix_market_file(const std::string& path);

}  // namespace lu
