// The bars that the rows are held against, from bars.toml.
//
//   [rma]
//   "same_node/put/8B/latency"      = { over_limit_ns = 6 }
//   "same_node/put/8KiB/*/bandwidth" = { ratio_min = 0.95 }
//
// A name may hold `*`, which means any characters. Kinds: ratio_max and ratio_min bound value/limit;
// over_limit_ns: the value is at most the limit and that much; value_max bounds the value
// itself, also by 0. `= false`: rows that are shown and not judged.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"
#include "measurement.hpp"

namespace grapnel::bench {

struct Bar {
  enum class Kind { ratio_max, ratio_min, over_limit_ns, value_max, none };
  std::string pattern;
  Kind kind{};
  double bound = 0;
};

/// The bars of one scenario, in the file's order. Errors: invalid_argument, for a file with anything else in it than
/// bars.
Result<std::vector<Bar>> read_bars(std::string_view toml, const std::string& scenario);

/// The bar for a row; null when there is none. Errors: invalid_argument when two bars claim it.
Result<const Bar*> find_bar(const std::vector<Bar>& bars, const std::string& name);

/// "ratio ≤ 1.25", for people.
std::string to_string(const Bar& bar, const std::string& unit);

/// A row as it is reported. Whatever its kind, the bar is stated as a bound of the ratio, so that a reader of the JSON
/// needs no kinds: the row passes when ratio ≤ bar (better lower) or ratio ≥ bar (better higher).
struct Row {
  Measurement measured;
  double limit = 0;  ///< the measured one, or value_max
  double ratio = 0;
  std::optional<double> bar;
  std::string bar_text;
  bool judged = true;  ///< false: no bar is asked for
  bool pass = false;   ///< a row without a bar, or with a disturbed limit, does not pass
};

/// Errors: invalid_argument, for a bar that does not fit the row (a ratio without a limit, ns against another unit).
Result<Row> judge(const Measurement& measured, const Bar* bar);

}  // namespace grapnel::bench
