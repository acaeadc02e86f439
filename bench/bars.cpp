// SPDX-License-Identifier: Apache-2.0
#include "bars.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <toml++/toml.h>

#include <limits>

namespace grapnel::bench {
namespace {

using Kind = Bar::Kind;

constexpr struct {
  Kind kind;
  const char* name;
} kKinds[] = {{Kind::ratio_max, "ratio_max"},
              {Kind::ratio_min, "ratio_min"},
              {Kind::over_limit_ns, "over_limit_ns"},
              {Kind::value_max, "value_max"}};

// Of a bound of 0: 0 keeps it, and nothing else does.
double ratio_to_bound(double value, double bound) {
  if (bound != 0) return value / bound;
  return value > 0 ? std::numeric_limits<double>::infinity() : 0;
}

Status bad(std::string why) { return Status(Code::invalid_argument, "bars: " + std::move(why)); }

Result<Bar> read_bar(std::string_view pattern, const toml::node& node) {
  if (node.is_boolean() && !*node.value<bool>()) return Bar{std::string(pattern), Kind::none, 0};
  const toml::table* const table = node.as_table();
  if (table == nullptr || table->size() != 1) {
    return bad(fmt::format("\"{}\" must be one kind and its number, as {{ ratio_max = 1.25 }}", pattern));
  }
  const auto only = table->begin();  // what it points to lives in it
  const auto& [key, value] = *only;
  for (const auto& [kind, name] : kKinds) {
    if (key.str() != name) continue;
    const std::optional<double> bound = value.value<double>();
    if (!bound) return bad(fmt::format("\"{}\": {} must be a number", pattern, name));
    return Bar{std::string(pattern), kind, *bound};
  }
  return bad(fmt::format("\"{}\": no kind is named {}", pattern, key.str()));
}

}  // namespace

Result<std::vector<Bar>> read_bars(std::string_view text, const std::string& scenario) {
  toml::table parsed;
  try {
    parsed = toml::parse(text);
  } catch (const toml::parse_error& error) {  // Debian's library is the one that throws
    return bad(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  std::vector<Bar> bars;
  for (const auto& [name, section] : parsed) {
    const toml::table* const table = section.as_table();
    if (table == nullptr) return bad(fmt::format("{} is no [scenario]", name.str()));
    for (const auto& [pattern, node] : *table) {
      auto bar = read_bar(pattern.str(), node);
      if (!bar) return bar.status();
      if (name.str() == scenario) bars.push_back(std::move(*bar));
    }
  }
  return bars;
}

Result<const Bar*> find_bar(const std::vector<Bar>& bars, const std::string& name) {
  const Bar* found = nullptr;
  for (const Bar& bar : bars) {
    if (::fnmatch(bar.pattern.c_str(), name.c_str(), 0) != 0) continue;
    if (found != nullptr) return bad(fmt::format("\"{}\" and \"{}\" both claim {}", found->pattern, bar.pattern, name));
    found = &bar;
  }
  return found;
}

std::string to_string(const Bar& bar, const std::string& unit) {
  switch (bar.kind) {
    case Kind::ratio_max: return fmt::format("ratio ≤ {}", bar.bound);
    case Kind::ratio_min: return fmt::format("ratio ≥ {}", bar.bound);
    case Kind::over_limit_ns: return fmt::format("≤ limit + {} ns", bar.bound);
    case Kind::value_max: return fmt::format("≤ {} {}", bar.bound, unit);
    case Kind::none: return "-";
  }
  return "";
}

Result<Row> judge(const Measurement& measured, const Bar* bar) {
  Row row{.measured = measured, .limit = measured.limit.value_or(0), .bar = {}, .bar_text = "none"};
  if (measured.limit) row.ratio = measured.value / row.limit;
  if (bar == nullptr) return row;
  row.bar_text = to_string(*bar, measured.unit);
  row.judged = bar->kind != Kind::none;
  if (!row.judged) return row;
  const bool bounds_value = bar->kind == Kind::value_max;
  if (bounds_value == measured.limit.has_value()) {
    return bad(fmt::format("{}: the bar \"{}\" and a row {} a limit do not fit", measured.name, row.bar_text,
                           measured.limit ? "with" : "without"));
  }
  if (bar->kind == Kind::over_limit_ns && measured.unit != "ns") {
    return bad(fmt::format("{} is measured in {}, its bar is in ns", measured.name, measured.unit));
  }
  const bool wants_more = bar->kind == Kind::ratio_min;
  if (wants_more != (measured.better == Better::higher)) {
    return bad(fmt::format("{}: \"{}\" bounds the wrong side", measured.name, row.bar_text));
  }
  switch (bar->kind) {
    case Kind::ratio_max:
    case Kind::ratio_min: row.bar = bar->bound; break;
    case Kind::over_limit_ns: row.bar = 1 + bar->bound / row.limit; break;
    case Kind::value_max:
      row.limit = bar->bound;
      row.ratio = ratio_to_bound(measured.value, bar->bound);
      row.bar = 1;
      break;
    case Kind::none: break;
  }
  row.pass = !measured.disturbed && (wants_more ? row.ratio >= *row.bar : row.ratio <= *row.bar);
  return row;
}

}  // namespace grapnel::bench
