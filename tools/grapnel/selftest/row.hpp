// One line of the self-test's table, and its form as a line of text between processes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grapnel::tool::selftest {

enum class Verdict {
  good,
  slow,      ///< right, and far slower than the same machines do without Grapnel
  wrong,     ///< a wrong byte, an error, or a limit that will stop a job
  not_here,  ///< there is nothing of the kind here, or it was not tried
};
const char* to_string(Verdict verdict);  ///< "not here"

struct Row {
  std::string section, name;
  std::string where = {};
  Verdict verdict = Verdict::good;
  std::string found = {};   ///< what was seen, in words
  std::string remedy = {};  ///< empty where there is nothing to mend
  std::optional<double> latency_us = {}, bandwidth_mb_s = {}, messages = {};
};

/// Fields by tabs; control characters in a field become spaces.
std::string encode(const Row& row);
/// Nothing where the line is no row.
std::optional<Row> decode(std::string_view line);

std::string join_fields(const std::vector<std::string>& fields);
std::vector<std::string> split_fields(std::string_view line);

}  // namespace grapnel::tool::selftest
