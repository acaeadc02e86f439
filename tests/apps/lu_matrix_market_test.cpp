// The parser: what it takes, and the line it names for what it does not.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "input.hpp"
#include "matrix_market.hpp"

namespace lu {
namespace {

ReadResult read(const std::string& text) {
  std::istringstream stream(text);
  return read_matrix_market(stream, "m");
}

/// Column-major, as a dense matrix; empty where the text was refused.
std::vector<double> values(const std::string& text) {
  const ReadResult result = read(text);
  if (const auto* failure = std::get_if<ReadFailure>(&result)) {
    ADD_FAILURE() << failure->message;
    return {};
  }
  return Input::from_file(std::get<SparseMatrix>(result)).dense();
}

using Values = std::vector<double>;

TEST(MatrixMarket, Coordinates) {
  EXPECT_EQ(
      values("%%MatrixMarket matrix coordinate real general\n% note\n\n2 2 3\n1 1 +4.5\n2 1 -1e-1\r\n% x\n2 2 3\n"),
      (Values{4.5, -0.1, 0, 3}));
  EXPECT_EQ(values("%%matrixmarket MATRIX Coordinate Integer GENERAL\n2 2 1\n1 2 -7"), (Values{0, 0, -7, 0}));
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n"), (Values{1, 0, 0, 1}));
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real general\n1 1 0\n"), (Values{0}));
}

TEST(MatrixMarket, SymmetriesAreExpanded) {
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 3\n"), (Values{4, 3, 3, 0}));
  EXPECT_EQ(values("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n"), (Values{0, 3, -3, 0}));
}

TEST(MatrixMarket, Arrays) {
  EXPECT_EQ(values("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n"), (Values{1, 2, 2, 3}));
  EXPECT_EQ(values("%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n"), (Values{0, 5, -5, 0}));
}

TEST(MatrixMarket, NamesFileLineAndReason) {
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  const std::string array = "%%MatrixMarket matrix array real general\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "m:1: the file is empty"},
      {"1 2 3\n", "m:1: not a Matrix Market file"},
      {"%%MatrixMarket vector coordinate real general\n", "m:1: not a Matrix Market file"},
      {"%%MatrixMarket matrix sparse real general\n", "m:1: format 'sparse' is unknown"},
      {"%%MatrixMarket matrix coordinate complex general\n", "m:1: field 'complex' is not supported"},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "m:1: symmetry 'hermitian' is not supported"},
      {"%%MatrixMarket matrix array pattern general\n", "m:1: an array cannot have the field 'pattern'"},
      {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "m:1: a pattern cannot be skew-symmetric"},
      {real, "m:1: the file ends before its size line"},
      {real + "% only\n3 3\n", "m:3: the size line must have 3 numbers and has 2"},
      {real + "3 4 1\n", "m:2: the matrix is 3 x 4"},
      {real + "0 0 0\n", "m:2: 0 rows"},
      {real + "-1 -1 0\n", "m:2: -1 rows"},
      {real + "99999999999999999999 1 0\n", "m:2: number of rows '99999999999999999999' is not an integer"},
      {real + "2000000 2000000 1\n", "m:2: 2000000 rows"},
      {real + "2 2 5\n", "m:2: 5 elements cannot be in a 2 x 2 matrix"},
      {real + "2 2 2\n1 1 1\n", "m:3: the file ends after 1 of 2 elements"},
      {real + "2 2 1\n1 1 1\n2 2 1\n", "m:4: more lines than the size line announced"},
      {real + "2 2 1\n3 1 1\n", "m:3: row 3 is outside 1..2"},
      {real + "2 2 1\n1 0 1\n", "m:3: column 0 is outside 1..2"},
      {real + "2 2 1\n1.5 1 1\n", "m:3: row '1.5' is not an integer"},
      {real + "2 2 1\n1 1 one\n", "m:3: value 'one' is not a number"},
      {real + "2 2 1\n1 1 +\n", "m:3: value '+' is not a number"},
      {real + "2 2 1\n1 1 +-4\n", "m:3: value '+-4' is not a number"},
      {real + "2 2 1\n+-1 1 4\n", "m:3: row '+-1' is not an integer"},
      {real + "2 2 1\n1 1 1e999\n", "m:3: value '1e999' is not a number that a double can hold"},
      {real + "2 2 1\n1 1 nan\n", "m:3: value 'nan' is not finite"},
      {real + "2 2 1\n1 1 1 1\n", "m:3: an element has 4 words here, not 3"},
      {real + "2 2 2\n1 1 1\n1 1 2\n", "m:4: element (1, 1) was given before, in line 3"},
      {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", "m:3: value '1.5' is not an integer"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n", "m:3: (1, 2) is above the diagonal"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", "m:3: a skew-symmetric file must not"},
      {array + "2 2\n1\n2\n3\n", "m:5: the file ends before element (2, 2)"},
      {array + "2 2\n1 2\n", "m:3: an array has one value per line"},
      {array + "1 1\n1\n2\n", "m:4: more lines than"},
  };
  for (const auto& [text, expected] : cases) {
    const ReadResult result = read(text);
    const auto* failure = std::get_if<ReadFailure>(&result);
    ASSERT_NE(failure, nullptr) << text;
    EXPECT_EQ(failure->message.rfind(expected, 0), 0u) << failure->message << "\nexpected " << expected;
  }
}

TEST(MatrixMarket, AMissingFileIsNamed) {
  const ReadResult result = read_matrix_market_file("no/such/file.mtx");
  ASSERT_TRUE(std::holds_alternative<ReadFailure>(result));
  EXPECT_EQ(std::get<ReadFailure>(result).message.rfind("no/such/file.mtx: cannot be opened", 0), 0u);
}

TEST(MatrixMarket, ADirectoryIsNamed) {
  const ReadResult result = read_matrix_market_file(LU_MATRICES);
  ASSERT_TRUE(std::holds_alternative<ReadFailure>(result));
  EXPECT_EQ(std::get<ReadFailure>(result).message, LU_MATRICES ": is a directory");
}

TEST(MatrixMarket, TheShippedMatrixNeedsNoPivoting) {
  const ReadResult result = read_matrix_market_file(LU_MATRICES "/transport.mtx");
  ASSERT_TRUE(std::holds_alternative<SparseMatrix>(result)) << std::get<ReadFailure>(result).message;
  const auto& matrix = std::get<SparseMatrix>(result);
  EXPECT_EQ(matrix.n, 210);
  EXPECT_FALSE(needs_pivoting(matrix)) << *needs_pivoting(matrix);
}

}  // namespace
}  // namespace lu
