// SPDX-License-Identifier: Apache-2.0
#include "selftest/row.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "run/message.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::array kVerdicts = {Verdict::good, Verdict::slow, Verdict::wrong, Verdict::not_here};
constexpr std::size_t kFields = 9;

std::string text_of(std::optional<double> number) { return number ? fmt::format("{:.6g}", *number) : ""; }

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != 0 ? std::nullopt : std::optional(number);
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "good";
    case Verdict::slow: return "slow";
    case Verdict::wrong: return "wrong";
    case Verdict::not_here: break;
  }
  return "not here";
}

std::string join_fields(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (&field == fields.data() ? "" : "\t") + printable(field);
  return line;
}

std::vector<std::string> split_fields(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t tab = line.find('\t');
    fields.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

std::string encode(const Row& row) {
  return join_fields({row.section, row.name, row.where, to_string(row.verdict), row.found, row.remedy,
                      text_of(row.latency_us), text_of(row.bandwidth_mb_s), text_of(row.messages)});
}

std::optional<Row> decode(std::string_view line) {
  const std::vector<std::string> fields = split_fields(line);
  if (fields.size() != kFields) return std::nullopt;
  for (const Verdict verdict : kVerdicts) {
    if (fields[3] != to_string(verdict)) continue;
    return Row{fields[0],
               fields[1],
               fields[2],
               verdict,
               fields[4],
               fields[5],
               number_of(fields[6]),
               number_of(fields[7]),
               number_of(fields[8])};
  }
  return std::nullopt;
}

}  // namespace grapnel::tool::selftest
