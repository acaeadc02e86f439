// SPDX-License-Identifier: Apache-2.0
#include "selftest/lines.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/output.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::string_view kMark = "grapnel-selftest\t";
constexpr std::array<std::pair<Line::Kind, const char*>, 5> kNames = {{{Line::Kind::job, "job"},
                                                                       {Line::Kind::step, "step"},
                                                                       {Line::Kind::row, "row"},
                                                                       {Line::Kind::dies, "dies"},
                                                                       {Line::Kind::end, "end"}}};

void write_line(Line::Kind kind, const std::string& rest) {
  for (const auto& [one, name] : kNames) {
    if (one == kind) (void)base::write_all(STDOUT_FILENO, std::string(kMark) + name + "\t" + rest + "\n");
  }
}

}  // namespace

void send_line(Line::Kind kind, const std::vector<std::string>& fields) { write_line(kind, join_fields(fields)); }

void send_row(const Row& row) { write_line(Line::Kind::row, encode(row)); }

std::optional<Line> parse_line(std::string_view text) {
  if (text.substr(0, kMark.size()) != kMark) return std::nullopt;
  std::vector<std::string> fields = split_fields(text.substr(kMark.size()));
  for (const auto& [kind, name] : kNames) {
    if (fields.front() != name) continue;
    fields.erase(fields.begin());
    return Line{kind, std::move(fields)};
  }
  return std::nullopt;
}

}  // namespace grapnel::tool::selftest
