// Cities from a TSPLIB file with EDGE_WEIGHT_TYPE EUC_2D.
//
// Read: TYPE (TSP), DIMENSION, EDGE_WEIGHT_TYPE, NODE_COORD_SECTION; other keys are skipped.
// Source: G. Reinelt, "TSPLIB 95".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "cities.hpp"

namespace tsp {

struct ReadResult {
  std::vector<City> cities;
  std::string why;  ///< empty: the cities are there. Else the place and what is wrong with it
};

ReadResult read_tsplib_file(const std::string& path);
/// `name`: for the messages.
ReadResult read_tsplib(std::istream& stream, const std::string& name);

}  // namespace tsp
