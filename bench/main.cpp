// grapnel-bench: measures Grapnel beside what the machine can do, and judges.
//
//   grapnel-bench rma|peers|sync|locks|dse|dsm|dsm --papers
//                 [--json FILE] [--check] [--filter TEXT] [--quick] [--runs N] [--bars FILE]
//
// `grapnel-bench rank …` is what its jobs run.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "again.hpp"
#include "bars.hpp"
#include "bars_text.hpp"
#include "rank.hpp"
#include "report.hpp"
#include "scenario.hpp"

namespace {

using namespace grapnel::bench;

struct Options {
  Wanted wanted;
  int runs = 0;  ///< 0: the scenario's
  std::string json;
  std::string bars;
  bool check = false;
  std::map<std::string, bool> flags;  ///< of scenarios
};

std::string bars_text(const std::string& path) {
  if (path.empty()) return kBarsText;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail(grapnel::Status(grapnel::Code::invalid_argument, "cannot read " + path));
  return text.str();
}

void warn_of_company() {
  double load = 0;
  const unsigned cpus = std::thread::hardware_concurrency();
  if (::getloadavg(&load, 1) != 1 || load < 0.5) return;
  fmt::print(stderr, "grapnel-bench: the machine is not idle (load {:.1f} on {} processors): expect noise\n", load,
             cpus);
}

Row judged(const std::vector<Bar>& bars, const Measurement& measurement) {
  const auto bar = find_bar(bars, measurement.name);
  if (!bar) fail(bar.status());
  auto row = judge(measurement, *bar);
  if (!row) fail(row.status());
  return *row;
}

// Rows whose limit was disturbed, each by itself; printed as they come, below the others.
bool measure_again(const Scenario& scenario, const Effort& effort, const std::vector<Bar>& bars,
                   std::vector<Row>& rows) {
  return measure_disturbed_again(rows, [&](const std::string& filter, const std::function<void(const Row&)>& on_row) {
    fmt::print("again, its limit was disturbed:\n");
    const auto on_measurement = [&](const Measurement& measurement) {
      const Row row = judged(bars, measurement);
      fmt::print("{}\n", table_line(row));
      std::fflush(stdout);
      on_row(row);
    };
    return scenario.collect({filter, effort}, {on_measurement, [](const std::string&, const std::string&) {}});
  });
}

using Skipped = std::map<std::string, std::string>;  // names of rows, and of peers that are not there; reasons

// The rows that fall short and those of `wanted` that are missing, one line each.
std::vector<std::string> shortfalls(const std::vector<Row>& rows, const Skipped& skipped,
                                    const std::vector<std::string>& wanted) {
  std::vector<std::string> lines;
  for (const std::string& name : wanted) {
    if (skipped.count(name) != 0) continue;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.measured.name == name; });
    if (row == rows.end()) {
      lines.push_back(name + ": was not measured");
    } else if (row->measured.disturbed) {
      lines.push_back(name +
                      ": its limit was disturbed, so nothing follows; measure again when the machine is quieter");
    } else if (row->judged && !row->pass) {
      lines.push_back(fmt::format("{}: {:.4g} {} against {:.4g}, ratio {:.3f}; the bar is {}", name,
                                  row->measured.value, row->measured.unit, row->limit, row->ratio, row->bar_text));
    }
  }
  return lines;
}

bool write_json(const std::string& path, const std::string& scenario, const std::vector<Row>& rows,
                const Skipped& skipped) {
  std::ofstream file(path);
  file << to_json(scenario, rows, skipped);
  file.close();
  if (!file) fmt::print(stderr, "grapnel-bench: cannot write {}\n", path);
  return !file.fail();
}

// Before anything is measured: minutes later is a bad time to learn that there is nowhere to write.
bool can_write(const std::string& path) {
  const bool can = path.empty() || std::ofstream(path, std::ios::app).good();
  if (!can) fmt::print(stderr, "grapnel-bench: --json {}: {}\n", path, std::strerror(errno));
  return can;
}

void print_sum(const std::vector<Row>& rows, const std::vector<std::string>& shortfalls, const Skipped& skipped,
               bool check) {
  fmt::print("\n{} rows, {} short of their bars, {} skipped\n", rows.size(), shortfalls.size(), skipped.size());
  for (const std::string& line : shortfalls) fmt::print("  {}\n", line);
  if (!check) return;
  for (const auto& [name, why] : skipped) fmt::print("  {}: skipped: {}\n", name, why);
}

int run(const Scenario& scenario, Options options) {
  Effort& effort = options.wanted.effort;
  effort.pairs = options.runs > 0 ? options.runs : effort.quick ? scenario.quick_runs : scenario.runs;
  const std::vector<std::string> names = scenario.rows(options.wanted);
  if (names.empty()) {
    fmt::print(stderr, "grapnel-bench: no row of {} holds \"{}\"\n", scenario.section, options.wanted.filter);
    return 2;
  }
  const auto bars = read_bars(bars_text(options.bars), scenario.section);
  if (!bars) fail(bars.status());
  if (!can_write(options.json)) return 2;
  warn_of_company();
  std::vector<Row> rows;
  Skipped skipped;
  fmt::print("{}\n", table_heading());
  const auto on_row = [&](const Measurement& measurement) {
    rows.push_back(judged(*bars, measurement));
    fmt::print("{}\n", table_line(rows.back()));
    std::fflush(stdout);
  };
  const auto on_skip = [&](const std::string& name, const std::string& why) {
    skipped.emplace(name, why);
    fmt::print("{:<46} skipped: {}\n", name, why);
  };
  const bool all_well =
      scenario.collect(options.wanted, {on_row, on_skip}) && measure_again(scenario, effort, *bars, rows);
  if (!all_well) fmt::print(stderr, "grapnel-bench: a job failed\n");
  if (!options.json.empty() && !write_json(options.json, scenario.section, rows, skipped)) return 1;
  const auto lines = shortfalls(rows, skipped, names);
  print_sum(rows, lines, skipped, options.check);
  return all_well && (lines.empty() || !options.check) ? 0 : 1;
}

void add_report(CLI::App& command, Options& options) {
  command.add_option("--json", options.json, "write the rows there too");
  command.add_option("--bars", options.bars, "instead of bench/bars.toml as it was built in");
  command.add_flag("--check", options.check, "exit 1 when a row falls short of its bar; says what was skipped");
}

void add_effort(CLI::App& command, Options& options) {
  command.add_option("--filter", options.wanted.filter, "only rows whose name holds this text");
  command.add_flag("--quick", options.wanted.effort.quick, "fewer pairs, shorter batches");
  command
      .add_option("--runs", options.runs,
                  "pairs of a row (default 61, quick 31; of dsm 31, 9); rounds of locks (7, 3), dse (11, 3), dsm "
                  "--papers (3, 1)")
      ->check(CLI::Range(1, 100000));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Grapnel's measurements: each beside the limit that this machine sets"};
  app.require_subcommand(1);
  Options options;
  std::map<std::string, CLI::App*> commands;
  for (const Scenario& scenario : scenarios()) {
    if (!scenario.flag.empty()) {
      commands.at(scenario.name)->add_flag("--" + scenario.flag, options.flags[scenario.flag], scenario.help);
      continue;
    }
    CLI::App* const command = commands[scenario.name] = app.add_subcommand(scenario.name, scenario.help);
    add_effort(*command, options);
    add_report(*command, options);
  }
  RankOptions rank_options;
  CLI::App* const rank = app.add_subcommand("rank", "")->group("");
  rank->add_option("job", rank_options.job)->required();
  rank->add_option("--board", rank_options.board)->required();
  add_effort(*rank, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const Scenario& scenario : scenarios()) {
    const bool has_flag = std::any_of(scenarios().begin(), scenarios().end(), [&](const Scenario& other) {
      return other.name == scenario.name && !other.flag.empty() && options.flags[other.flag];
    });
    const bool is_wanted = scenario.flag.empty() ? !has_flag : options.flags[scenario.flag];
    if (*commands.at(scenario.name) && is_wanted) return run(scenario, options);
  }
  rank_options.filter = options.wanted.filter;
  rank_options.effort = options.wanted.effort;
  rank_options.effort.pairs = options.runs;
  return run_rank(rank_options);
}
