// Files of TSPLIB, and what is wrong with some.
// SPDX-License-Identifier: Apache-2.0
#include "tsplib.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace tsp {

namespace {

ReadResult read(const std::string& text) {
  std::istringstream stream(text);
  return read_tsplib(stream, "x.tsp");
}

const std::string kHead = "TYPE: TSP\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n";

}  // namespace

TEST(TspTsplib, ReadsKeysWithAndWithoutBlanks) {
  const auto result = read(
      "NAME : two\r\nCOMMENT: a: b\nTYPE : TSP\nDIMENSION:2\n\nEDGE_WEIGHT_TYPE  :  EUC_2D\nNODE_COORD_SECTION\n"
      " 2 1.5e1 -2\n 1 3 4.25 \nEOF\n");
  ASSERT_EQ(result.why, "");
  ASSERT_EQ(result.cities.size(), 2U);
  EXPECT_EQ(result.cities[0].y, 4.25);
  EXPECT_EQ(result.cities[1].x, 15);
}

TEST(TspTsplib, NamesTheLineAndTheMistake) {
  EXPECT_EQ(read("").why, "x.tsp:0: the file has no NODE_COORD_SECTION");
  EXPECT_EQ(read("TYPE: ATSP\n").why, "x.tsp:1: TYPE ATSP: only TSP is read");
  EXPECT_EQ(read("DIMENSION: 33\n").why, "x.tsp:1: DIMENSION 33: 2 to 32 cities can be solved");
  EXPECT_EQ(read("DIMENSION: 3x\n").why, "x.tsp:1: DIMENSION 3x: 2 to 32 cities can be solved");
  EXPECT_EQ(read("DIMENSION: 3\nNODE_COORD_SECTION\n").why, "x.tsp:2: EDGE_WEIGHT_TYPE (none): only EUC_2D is read");
  EXPECT_EQ(read("EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n").why, "x.tsp:2: DIMENSION is missing");
  EXPECT_EQ(read(kHead + "1 0 0\n").why, "x.tsp:5: 1 of 2 cities are missing");
  EXPECT_EQ(read(kHead + "1 0 0\n1 2 3\n").why, "x.tsp:6: city 1 appears twice");
  EXPECT_EQ(read(kHead + "3 0 0\n").why, "x.tsp:5: city 3 of 2");
  EXPECT_EQ(read(kHead + "1 0\n").why, "x.tsp:5: '1 0' is no number of a city and two coordinates");
  EXPECT_EQ(read(kHead + "1 0 0 0\n").why, "x.tsp:5: '1 0 0 0' is no number of a city and two coordinates");
  EXPECT_EQ(read(kHead + "1 0 2e7\n").why, "x.tsp:5: a coordinate is beyond 10000000");
}

}  // namespace tsp
