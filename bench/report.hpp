// The rows as a table for people and as JSON for programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bars.hpp"

namespace grapnel::bench {

/// {"schema":1,"rows":[…],"skipped":[…]}; what a row does not have (a limit with its ratio, p99, a bar) is null, and so
/// is the verdict on one that is not judged. Where the value is the median of several runs, low and high are their
/// quartiles. `skipped`: names of rows and of peers that are not there, and reasons.
std::string to_json(const std::string& scenario, const std::vector<Row>& rows,
                    const std::map<std::string, std::string>& skipped);

std::string table_heading();
std::string table_line(const Row& row);

}  // namespace grapnel::bench
