// What the user asked `lu` to do, read from the command line before any rank starts work.
//
// Every rank parses the same arguments and so reaches the same answer without a message.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribution.hpp"

namespace lu {

struct Options {
  /// Rows and columns; 0: as the matrix file says.
  std::int64_t n = 0;
  /// Rows and columns of a block; those at the right and lower edge may be smaller.
  std::int64_t block = 32;
  Layout layout = Layout::cyclic;
  /// Empty: a generated matrix.
  std::string matrix_file;
  std::uint64_t seed = 1;
  /// Compare with LAPACK and compute the whole residual; otherwise the residual of one product with a vector.
  bool verify = false;
};

/// The end of the program before it began: `--help` (code 0) or a bad argument (code 2).
struct EarlyExit {
  int code = 0;
  std::string text;
};

struct ParsedArguments {
  Options options;
  std::optional<EarlyExit> exit;
};

/// Touches nothing but its arguments. On `exit` the caller prints the text once in the whole job and ends.
ParsedArguments parse_arguments(int argc, const char* const* argv);

}  // namespace lu
