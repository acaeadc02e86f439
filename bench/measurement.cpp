// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

namespace grapnel::bench {
namespace {

constexpr std::string_view kMark = "grapnel-bench-row";
constexpr std::size_t kFields = 12;

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "-"; }

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t end = line.find('\t');
    fields.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

bool read_number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

bool read_number(const std::string& text, std::optional<double>& value) {
  value.reset();
  if (text == "-") return true;
  double number = 0;
  if (!read_number(text, number)) return false;
  value = number;
  return true;
}

}  // namespace

const char* to_string(Better better) { return better == Better::lower ? "lower" : "higher"; }

std::string to_line(const Measurement& m) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", kMark, m.name, m.unit, to_string(m.better),
                     m.value, optional_text(m.limit), m.runs, optional_text(m.p99), m.disturbed ? 1 : 0, m.note,
                     optional_text(m.low), optional_text(m.high));
}

std::optional<Measurement> from_line(std::string_view line) {
  const std::vector<std::string> fields = split(line);
  if (fields.size() != kFields || fields[0] != kMark) return std::nullopt;
  Measurement m{.name = fields[1], .unit = fields[2]};
  if (fields[3] != "lower" && fields[3] != "higher") return std::nullopt;
  m.better = fields[3] == "lower" ? Better::lower : Better::higher;
  double runs = 0, disturbed = 0;
  if (!read_number(fields[4], m.value) || !read_number(fields[5], m.limit) || !read_number(fields[6], runs) ||
      !read_number(fields[7], m.p99) || !read_number(fields[8], disturbed) || !read_number(fields[10], m.low) ||
      !read_number(fields[11], m.high)) {
    return std::nullopt;
  }
  m.runs = static_cast<int>(runs);
  m.disturbed = disturbed != 0;
  m.note = fields[9];
  return m;
}

}  // namespace grapnel::bench
