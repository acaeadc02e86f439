// SPDX-License-Identifier: Apache-2.0
#include "selftest/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "output.hpp"

namespace grapnel::tool::selftest {
namespace {

using Cells = std::vector<std::string>;

// In characters, of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string aligned(const std::vector<Cells>& table) {
  std::vector<std::size_t> widths(table.front().size());
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  std::string text;
  for (const Cells& cells : table) {
    std::string line = " ";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += " " + cells[i];
      if (i + 1 < cells.size()) line.append(widths[i] - width_of(cells[i]) + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string number(std::optional<double> value) {
  if (!value) return "-";
  return *value < 100 ? fmt::format("{:.2f}", *value) : fmt::format("{:.0f}", *value);
}

bool has_numbers(const std::vector<const Row*>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row* row) { return row->latency_us.has_value(); });
}

std::string table_of(const std::string& section, const std::vector<const Row*>& rows) {
  const bool numbers = has_numbers(rows);
  std::vector<Cells> table = {numbers ? Cells{section, "where", "verdict", "µs", "MB/s", "messages", "found"}
                                      : Cells{section, "where", "verdict", "found"}};
  for (const Row* row : rows) {
    Cells cells = {row->name, row->where, to_string(row->verdict)};
    if (numbers)
      cells.insert(cells.end(), {number(row->latency_us), number(row->bandwidth_mb_s), number(row->messages)});
    cells.push_back(row->found);
    table.push_back(std::move(cells));
  }
  return aligned(table) + "\n";
}

// Of each remedy one line, behind the names of the rows that need it.
std::string remedies_of(const Report& report) {
  std::vector<std::pair<std::string, std::string>> names_by_remedy;
  for (const Row& row : report.rows) {
    if (row.remedy.empty()) continue;
    const std::string name = fmt::format("{} ({})", row.name, row.where);
    const auto same = [&row](const auto& one) { return one.first == row.remedy; };
    const auto known = std::find_if(names_by_remedy.begin(), names_by_remedy.end(), same);
    if (known == names_by_remedy.end()) {
      names_by_remedy.emplace_back(row.remedy, name);
    } else {
      known->second += ", " + name;
    }
  }
  std::string text;
  for (const auto& [remedy, names] : names_by_remedy) text += fmt::format("  {}:\n    {}\n", names, remedy);
  return text.empty() ? "" : "what to do\n" + text + "\n";
}

std::string number_or_null(std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : "null"; }

}  // namespace

Verdict Report::verdict() const {
  Verdict worst = Verdict::good;
  for (const Row& row : rows) {
    if (row.verdict == Verdict::wrong) return Verdict::wrong;
    if (row.verdict == Verdict::slow) worst = Verdict::slow;
  }
  return worst;
}

std::string as_table(const Report& report) {
  std::string text = "grapnel selftest: ";
  text += report.launcher.empty() ? "no rank has joined a job\n\n"
                                  : fmt::format("{} ranks on {} node{}, by {}\n\n", report.ranks, report.nodes,
                                                report.nodes == 1 ? "" : "s", report.launcher);
  std::vector<std::string> sections;
  for (const Row& row : report.rows) {
    if (std::find(sections.begin(), sections.end(), row.section) == sections.end()) sections.push_back(row.section);
  }
  for (const std::string& section : sections) {
    std::vector<const Row*> rows;
    for (const Row& row : report.rows) {
      if (row.section == section) rows.push_back(&row);
    }
    text += table_of(section, rows);
  }
  const auto count = [&](Verdict verdict) {
    return std::count_if(report.rows.begin(), report.rows.end(),
                         [&](const Row& row) { return row.verdict == verdict; });
  };
  return text + remedies_of(report) +
         fmt::format("verdict: {} ({} good, {} slow, {} wrong, {} not here; {:.1f} s)\n", to_string(report.verdict()),
                     count(Verdict::good), count(Verdict::slow), count(Verdict::wrong), count(Verdict::not_here),
                     report.seconds);
}

std::string as_json(const Report& report) {
  std::string rows;
  for (const Row& row : report.rows) {
    rows += fmt::format(
        "{}\n    {{\"section\": {}, \"name\": {}, \"where\": {}, \"verdict\": {}, \"latency_us\": {}, "
        "\"bandwidth_mb_s\": {}, \"messages\": {}, \"found\": {}, \"remedy\": {}}}",
        rows.empty() ? "" : ",", json_quoted(row.section), json_quoted(row.name), json_quoted(row.where),
        json_quoted(to_string(row.verdict)), number_or_null(row.latency_us), number_or_null(row.bandwidth_mb_s),
        number_or_null(row.messages), json_quoted(row.found), json_quoted(row.remedy));
  }
  return fmt::format(
      "{{\"schema\": 1, \"version\": {}, \"launcher\": {}, \"ranks\": {}, \"nodes\": {}, \"verdict\": {}, \"seconds\": "
      "{:.3f},\n  \"rows\": [{}\n]}}\n",
      json_quoted(GRAPNEL_VERSION), json_quoted(report.launcher), report.ranks, report.nodes,
      json_quoted(to_string(report.verdict())), report.seconds, rows);
}

}  // namespace grapnel::tool::selftest
