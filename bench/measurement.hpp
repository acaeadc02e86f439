// What one row measured, before it is judged; and how it travels from a rank to the program that collects.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace grapnel::bench {

enum class Better { lower, higher };

const char* to_string(Better better);

struct Measurement {
  std::string name;
  std::string unit;
  Better better = Better::lower;
  double value = 0;
  std::optional<double> limit = {};  ///< measured beside the value; none where the bar bounds the value itself
  int runs = 0;                      ///< pairs
  std::optional<double> p99 = {};    ///< of our single operations (same node: of batches); latencies only
  bool disturbed = false;            ///< the limit was far worse than it can be: nothing follows from the ratio
  std::string note = {};             ///< which limit was the best, …
  std::optional<double> low = {}, high = {};  ///< quartiles of the runs, where the value is their median
};

/// One line without its end; fields by tabs. The receiver takes any other line for program output.
std::string to_line(const Measurement& measurement);
std::optional<Measurement> from_line(std::string_view line);

}  // namespace grapnel::bench
