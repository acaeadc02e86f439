// sor, jacobi, tsp and fft3d, in three sizes on 1, 2, 4 and 8 nodes: their wall time, and what it is made of.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "dsm_papers.hpp"
#include "pairs.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

constexpr double kMost_s = 480;  ///< no round begins later
constexpr int kTimeout_s = 120;

struct Program {
  std::string name, size;
  std::vector<std::string> words;
};

/// One place where a program runs.
struct Run {
  const Program* program;
  int nodes;
  const WayOfProgress* way;  ///< null: on one node, where nothing is sent

  std::string where() const { return fmt::format("{}/{}/{}_nodes/{}", program->name, program->size, nodes, way->name); }
};

const std::vector<Program>& programs() {
  static const std::vector<Program> all = [] {
    std::vector<Program> made;
    for (const char* grid : {"sor", "jacobi"}) {
      for (const char* n : {"512", "1024", "2048"}) made.push_back({grid, n, {"--n", n, "--iterations", "40"}});
    }
    // Whole tours by one process from the third city on: 150 to 300 pieces of work.
    for (const char* cities : {"12", "14", "15"}) made.push_back({"tsp", cities, {"--cities", cities, "--depth", "3"}});
    for (const char* n : {"32", "64", "128"}) made.push_back({"fft3d", n, {"--n", n, "--iterations", "2"}});
    return made;
  }();
  return all;
}

std::vector<Run> runs() {
  std::vector<Run> all;
  for (const Program& program : programs()) {
    for (const int nodes : {2, 4, 8}) {
      for (const WayOfProgress& way : ways_of_progress()) all.push_back({&program, nodes, &way});
    }
  }
  return all;
}

const std::vector<std::string>& parts_shown() {
  static const std::vector<std::string> names = {"compute", "lock", "barrier", "idle", "server"};
  return names;
}

/// A row of the statistics (GRAPNEL_STATS=1) and which of its numbers are messages.
struct CountShown {
  const char* name;
  const char* of_statistics;
  std::size_t numbers, first, last;
};

constexpr CountShown kCounts[] = {{"pages", "heap fetch", 5, 4, 4},
                                  {"homes", "heap question", 5, 4, 4},
                                  {"diffs", "heap diff", 5, 4, 4},
                                  {"locks", "cohort", 7, 4, 6},
                                  {"barriers", "barrier", 5, 4, 4}};

/// They are the same in all ways, as far as time allows: shown of the first.
bool shows_counts(const Run& run) { return run.way == &ways_of_progress().front(); }

std::string wall_name(const Run& run) { return "wall/" + run.where(); }
std::string speed_up_name(const Run& run) { return "speed_up/" + run.where(); }
std::string split_name(const Run& run, const std::string& part) { return "split/" + run.where() + "/" + part; }
std::string count_name(const Run& run, const std::string& what) {
  return fmt::format("messages/{}/{}/{}_nodes/{}", run.program->name, run.program->size, run.nodes, what);
}

bool wants(const std::string& filter, const std::string& name) { return name.find(filter) != std::string::npos; }

std::vector<std::string> names_of(const Run& run) {
  std::vector<std::string> names = {wall_name(run), speed_up_name(run)};
  for (const std::string& part : parts_shown()) names.push_back(split_name(run, part));
  for (const CountShown& count : kCounts) {
    if (shows_counts(run)) names.push_back(count_name(run, count.name));
  }
  return names;
}

bool wants(const std::string& filter, const Run& run) {
  const auto names = names_of(run);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return wants(filter, name); });
}

/// "  part  mean  most", seconds: a line of the programs' table of times.
std::optional<std::pair<std::string, double>> time_line(const std::string& line) {
  std::istringstream words(line);
  std::string part, rest;
  double mean_s = 0, most_s = 0;
  if (line.rfind("  ", 0) != 0 || !(words >> part >> mean_s >> most_s) || (words >> rest)) return std::nullopt;
  return std::pair(part, mean_s);
}

/// "name  number number …": a line of the statistics; its messages, where it is one that is shown.
std::optional<std::pair<std::string, double>> count_line(const std::string& line) {
  for (const CountShown& count : kCounts) {
    if (line.rfind(std::string(count.of_statistics) + " ", 0) != 0) continue;
    std::istringstream words(line.substr(std::string(count.of_statistics).size()));
    std::vector<double> numbers;
    for (double number = 0; words >> number;) numbers.push_back(number);
    if (!words.eof() || numbers.size() != count.numbers) continue;
    double messages = 0;
    for (std::size_t i = count.first; i <= count.last; ++i) messages += numbers[i];
    return std::pair(count.name, messages);
  }
  return std::nullopt;
}

/// What one run printed: times, s, by part, means of all processes; messages, of all, by kind.
struct Printed {
  std::map<std::string, double> times, messages;
};

/// Nothing: it did not end well.
std::optional<Printed> run_program(const Program& program, int nodes, const std::vector<std::string>& settings) {
  std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", "/usr/bin/env", "GRAPNEL_STATS=1"};
  command.insert(command.end(), settings.begin(), settings.end());
  const std::string ranks = std::to_string(nodes);
  command.insert(command.end(), {beside("grapnel"), "run", "-n", ranks, "--nodes", ranks, "--timeout",
                                 std::to_string(kTimeout_s), "--", beside(program.name)});
  command.insert(command.end(), program.words.begin(), program.words.end());
  Job job(command);
  Printed printed;
  std::string last;
  while (const auto line = job.next_line()) {
    if (const auto time = time_line(*line)) printed.times.insert(*time);
    if (const auto count = count_line(*line)) printed.messages.insert(*count);
    if (!line->empty()) last = *line;
  }
  if (job.finish() && printed.times.count("wall") != 0) return printed;
  fmt::print(stderr, "grapnel-bench: {} on {} nodes failed; its last line: {}\n", program.name, nodes, last);
  return std::nullopt;
}

/// What the rounds found, by place and part.
using ByPart = std::map<std::string, std::vector<double>>;
struct Found {
  ByPart times, messages;
};
using ByPlace = std::map<std::string, Found>;

bool measure(const Program& program, const std::string& where, int nodes, const std::vector<std::string>& settings,
             ByPlace& samples) {
  const auto printed = run_program(program, nodes, settings);
  if (!printed) return false;
  for (const auto& [part, time_s] : printed->times) samples[where].times[part].push_back(time_s);
  for (const auto& [kind, count] : printed->messages) samples[where].messages[kind].push_back(count);
  return true;
}

std::string alone(const Program& program) { return program.name + "/" + program.size; }

double median_ms(const ByPlace& samples, const std::string& where, const std::string& part) {
  return median(samples.at(where).times.at(part)) * 1e3;
}

void show_wall(const Run& run, const ByPlace& samples, const OnRow& on_row) {
  const std::vector<double>& walls = samples.at(run.where()).times.at("wall");
  Measurement m{.name = wall_name(run), .unit = "ms", .value = median_ms(samples, run.where(), "wall")};
  m.limit = median_ms(samples, alone(*run.program), "wall");
  m.runs = static_cast<int>(walls.size());
  m.low = percentile(walls, 0.25) * 1e3;
  m.high = percentile(walls, 0.75) * 1e3;
  m.note = shared_processors_note(run.nodes);
  on_row(m);
}

// Held against the sockets': how much better, or worse, another way is.
void show_speed_up(const Run& run, const ByPlace& samples, const OnRow& on_row) {
  const double one_ms = median_ms(samples, alone(*run.program), "wall");
  const Run sockets{run.program, run.nodes, &ways_of_progress().front()};
  Measurement m{.name = speed_up_name(run), .unit = "times", .better = Better::higher};
  m.value = one_ms / median_ms(samples, run.where(), "wall");
  if (samples.count(sockets.where()) != 0) m.limit = one_ms / median_ms(samples, sockets.where(), "wall");
  m.runs = static_cast<int>(samples.at(run.where()).times.at("wall").size());
  m.note = shared_processors_note(run.nodes);
  on_row(m);
}

void show_messages(const Run& run, const ByPlace& samples, const std::string& filter, const OnRow& on_row) {
  for (const auto& [kind, counts] : samples.at(run.where()).messages) {
    Measurement m{.name = count_name(run, kind), .unit = "messages", .value = median(counts)};
    m.runs = static_cast<int>(counts.size());
    if (wants(filter, m.name)) on_row(m);
  }
}

void show(const Run& run, const ByPlace& samples, const std::string& filter, const OnRow& on_row) {
  if (wants(filter, wall_name(run))) show_wall(run, samples, on_row);
  if (wants(filter, speed_up_name(run))) show_speed_up(run, samples, on_row);
  if (shows_counts(run)) show_messages(run, samples, filter, on_row);
  for (const auto& [part, times] : samples.at(run.where()).times) {
    const std::string name = split_name(run, part);
    if (part == "wall" || !wants(filter, name)) continue;
    on_row({.name = name, .unit = "ms", .value = median(times) * 1e3, .runs = static_cast<int>(times.size())});
  }
}

/// Programs that a wanted run needs as their limit.
std::vector<const Program*> programs_of(const std::vector<Run>& wanted) {
  std::vector<const Program*> needed;
  for (const Run& run : wanted) {
    if (std::find(needed.begin(), needed.end(), run.program) == needed.end()) needed.push_back(run.program);
  }
  return needed;
}

bool run_round(const std::vector<Run>& wanted, ByPlace& samples) {
  bool well = true;
  for (const Program* program : programs_of(wanted)) {
    well = well && measure(*program, alone(*program), 1, {}, samples);
    for (const Run& run : wanted) {
      if (run.program == program) well = well && measure(*program, run.where(), run.nodes, run.way->settings, samples);
    }
  }
  return well;
}

}  // namespace

std::vector<std::string> dsm_program_rows(const std::string& filter) {
  std::vector<std::string> names;
  for (const Run& run : runs()) {
    for (const std::string& name : names_of(run)) {
      if (wants(filter, name)) names.push_back(name);
    }
  }
  return names;
}

bool collect_dsm_programs(const std::string& filter, const Effort& effort, const OnRow& on_row) {
  std::vector<Run> wanted = runs();
  std::erase_if(wanted, [&](const Run& run) { return !wants(filter, run); });
  if (wanted.empty()) return true;
  ByPlace samples;
  const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(kMost_s * 1e9);
  for (int round = 0; round < effort.pairs && (round == 0 || now_ns() < end_ns); ++round) {
    if (!run_round(wanted, samples)) return false;
  }
  for (const Run& run : wanted) show(run, samples, filter, on_row);
  return true;
}

}  // namespace grapnel::bench
