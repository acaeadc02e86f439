// SPDX-License-Identifier: Apache-2.0
#include "selftest/job_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "run/message.hpp"
#include "selftest/lines.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::size_t kMostLines = 200, kLinesOfCause = 3;

constexpr std::array<std::pair<const char*, const char*>, 9> kRemedies = {{
    {"was not accepted within",
     "a firewall is between the machines: open the ports between them (all, or those of UCX_TCP_PORT_RANGE), or set "
     "UCX_NET_DEVICES to another interface"},
    {"unreachable",
     "no transport leads to the other machines: unset UCX_TLS and UCX_NET_DEVICES, or name those that do"},
    {"UCX_TLS",
     "unset UCX_TLS, or name transports that `grapnel info` lists on every machine and that lead to the others"},
    {"ulimit", "raise the limit that the line names"},
    {"lost host", "a machine was cut off, or stopped for seconds: look at its network and its load"},
    {"has lost the others", "this machine was cut off, or stopped for seconds: look at its network and its load"},
    {"no launcher", "install Open MPI or MPICH, or start the selftest under the launcher that is there"},
    {"GRAPNEL_", "unset or correct the setting (docs/settings.md)"},
    {"was started as", "start it by the launcher that the line names"},
}};

bool is_ours(const std::string& line) { return line.starts_with("grapnel"); }
bool is_of_ssh(const std::string& line) { return line.starts_with("ssh: "); }
bool is_any(const std::string&) { return true; }
bool is_note(const std::string& line) { return line.find(": handing over to ") != std::string::npos; }

}  // namespace

std::string remedy_for(const std::string& cause) {
  for (const auto& [words, remedy] : kRemedies) {
    if (cause.find(words) != std::string::npos) return remedy;
  }
  return "the lines name what failed; docs/clusters.md and docs/debugging.md have the next steps";
}

void JobRun::run(const std::function<double()>& seconds_left) {
  auto end = run_child(options_, seconds_left, [this](std::string_view line, bool) { take(line); });
  if (!end) not_started_ = end.status();
  if (end) end_ = *end;
  if (victim_) seconds_to_end_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - dies_at_).count();
  ended_well_ = ended_well_ && end_.exit_code == 0;
}

void JobRun::take(std::string_view text) {
  const auto line = parse_line(text);
  if (!line) {
    others_.push_back(printable(text));
    if (others_.size() > kMostLines) others_.erase(others_.begin());
    return;
  }
  switch (line->kind) {
    case Line::Kind::job:
      begun_ = true;
      launcher_ = line->fields;
      break;
    case Line::Kind::step:
      begun_ = true;
      if (!line->fields.empty()) step_ = line->fields.front();
      break;
    case Line::Kind::row:
      if (auto row = decode(join_fields(line->fields))) rows_.push_back(*std::move(row));
      break;
    case Line::Kind::dies:
      victim_ = line->fields.empty() ? 0 : std::atoi(line->fields.front().c_str());
      dies_at_ = std::chrono::steady_clock::now();
      break;
    case Line::Kind::end: ended_well_ = true; break;
  }
}

// Our own lines where there are some; else ssh's; else the last ones.
std::string JobRun::cause() const {
  std::vector<std::string> lines;
  for (bool (*const wanted)(const std::string&) : {is_ours, is_of_ssh, is_any}) {
    for (const std::string& line : others_) {
      const bool new_one = std::find(lines.begin(), lines.end(), line) == lines.end();
      const bool frame = line.find_first_not_of("-= ") == std::string::npos;
      if (wanted(line) && !is_note(line) && !frame && new_one) lines.push_back(line);
    }
    if (!lines.empty()) break;
  }
  if (lines.size() > kLinesOfCause && !is_ours(lines.front())) lines.erase(lines.begin(), lines.end() - kLinesOfCause);
  if (lines.size() > kLinesOfCause) lines.resize(kLinesOfCause);
  return fmt::format("{}", fmt::join(lines, " | "));
}

std::optional<Row> JobRun::failure() const {
  if (ended_well_) return std::nullopt;
  const bool has_row = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.section == "job"; });
  if (has_row) return std::nullopt;
  Row row{.section = "job", .name = step_, .where = "the job", .verdict = Verdict::wrong};
  const std::string lines = cause();
  if (!not_started_.ok()) {
    row.found = not_started_.message();
  } else if (end_.signal != 0) {
    row.found = fmt::format("ended by {}", signal_words(end_.signal));
  } else if (end_.timed_out) {
    row.found = "not over in time, and ended by the selftest";
  } else {
    row.found = fmt::format("the job ended with exit code {}", end_.exit_code);
  }
  if (!lines.empty()) row.found += ": " + lines;
  row.remedy = remedy_for(lines);
  if (!begun_) {
    std::string command = options_.command.front();
    for (const std::string& word : options_.command) command += &word == options_.command.data() ? "" : " " + word;
    row.remedy = fmt::format(
        "{}; no rank has joined: the hosts must be reached without a password, and have the program "
        "at the same path. The command was: {}",
        row.remedy, command);
  }
  return row;
}

void JobRun::add_to(Report& report) const {
  if (launcher_.size() == 3) {
    report.launcher = launcher_[0];
    report.ranks = std::atoi(launcher_[1].c_str());
    report.nodes = std::atoi(launcher_[2].c_str());
  }
  report.rows.insert(report.rows.end(), rows_.begin(), rows_.end());
  if (auto row = failure()) report.rows.push_back(*std::move(row));
}

}  // namespace grapnel::tool::selftest
