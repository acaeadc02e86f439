// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include <cmath>

namespace grapnel::bench {
namespace {

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string json_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : "null";
}

std::string json_spread(const Measurement& m) {
  if (!m.low || !m.high) return "";
  return fmt::format(",\"low\":{},\"high\":{}", json_number(m.low), json_number(m.high));
}

const char* verdict(const Row& row) {
  if (!row.judged) return "";
  if (row.pass) return "ok";
  return row.measured.disturbed ? "NOISE" : "SHORT";
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

std::string to_json(const std::string& scenario, const std::vector<Row>& rows,
                    const std::map<std::string, std::string>& skipped) {
  std::string text = "{\"schema\":1,\"rows\":[";
  for (const Row& row : rows) {
    const Measurement& m = row.measured;
    const bool has_limit = m.limit || row.bar;  // measured, or the bar itself
    text += fmt::format(
        "{}\n{{\"scenario\":{},\"name\":{},\"value\":{},\"unit\":{},\"better\":\"{}\",\"limit\":{},\"ratio\":{},"
        "\"bar\":{},"
        "\"pass\":{},\"runs\":{},\"p99\":{},\"disturbed\":{},\"note\":{}{}}}",
        &row == rows.data() ? "" : ",", json_text(scenario), json_text(m.name), json_number(m.value), json_text(m.unit),
        to_string(m.better), has_limit ? json_number(row.limit) : "null", has_limit ? json_number(row.ratio) : "null",
        json_number(row.bar), row.judged ? fmt::format("{}", row.pass) : "null", m.runs, json_number(m.p99),
        m.disturbed, json_text(m.note), json_spread(m));
  }
  text += "\n],\"skipped\":[";
  for (const auto& [name, why] : skipped) {
    text += fmt::format("{}\n{{\"name\":{},\"why\":{}}}", name == skipped.begin()->first ? "" : ",", json_text(name),
                        json_text(why));
  }
  return text + "\n]}\n";
}

std::string table_heading() {
  return fmt::format("{:<46} {:>9} {:>9} {:>7}  {:<17} {:<5} {:>9}  {}", "row", "value", "limit", "ratio", "bar", "",
                     "p99", "unit, pairs");
}

std::string table_line(const Row& row) {
  const Measurement& m = row.measured;
  return fmt::format("{:<46} {:>9} {:>9} {:>7.3f}  {:<17} {:<5} {:>9}  {}, {}{}", m.name, number(m.value),
                     number(row.limit), row.ratio, row.bar_text, verdict(row), m.p99 ? number(*m.p99) : "", m.unit,
                     m.runs, m.note.empty() ? "" : "; " + m.note);
}

}  // namespace grapnel::bench
