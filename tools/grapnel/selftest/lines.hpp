// What rank 0 of a self-test's job sends to the command that started it: lines on standard output, which every launcher
// passes on. All other output of the job is left as it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "selftest/row.hpp"

namespace grapnel::tool::selftest {

struct Line {
  enum class Kind {
    job,   ///< launcher, ranks, nodes: the ranks have joined
    step,  ///< what begins now
    row,   ///< a line of the table
    dies,  ///< the rank that ends itself now
    end,   ///< the job has done all that it was to do
  };
  Kind kind = Kind::end;
  std::vector<std::string> fields;
};

/// Writes one on standard output. One that cannot be written has no reader any more.
void send_line(Line::Kind kind, const std::vector<std::string>& fields = {});
void send_row(const Row& row);

/// Nothing where `text` (without its newline) is other output.
std::optional<Line> parse_line(std::string_view text);

}  // namespace grapnel::tool::selftest
