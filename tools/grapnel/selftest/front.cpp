// `grapnel selftest` itself: starts the jobs, bounds their time, and gives the verdict. As a rank of a launcher it
// starts the rank's part as a process of its own, so that one is left to print when the job has been ended.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <thread>

#include "launch/launcher_signs.hpp"
#include "output.hpp"
#include "selftest/checks.hpp"
#include "selftest/hosts.hpp"
#include "selftest/job_run.hpp"
#include "selftest/options.hpp"
#include "selftest/report.hpp"

namespace grapnel::tool {
namespace selftest {
namespace {

constexpr const char* kCommand = "grapnel selftest";
constexpr int kUsage = 2;
constexpr double kStandardLimit_s = 60;
constexpr double kResolve_s = 10;
constexpr double kChecksPart = 0.7, kDeathPart = 0.95;  // of the limit
constexpr double kInTime_s = 10;                        // a death, and the end of the job after it
constexpr int kRanksHere = 4, kRanksPerHost = 2, kRanksOfDeath = 3;
constexpr auto kRankZeroFirst = std::chrono::seconds(2);

// What a launcher leaves; a job inside of another one's rank must not see it.
const std::vector<std::string> kLaunchersVariables = {"PMI_",   "PMI2_",  "PMIX_", "OMPI_",     "PRTE_",
                                                      "SLURM_", "HYDRA_", "HYDI_", "MPI_LOCAL", "GRAPNEL_RUN_"};

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t bytes = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return bytes > 0 ? std::string(path.data(), static_cast<std::size_t>(bytes)) : "grapnel";
}

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

class Front {
 public:
  explicit Front(const SelftestOptions& options) : options_(options), self_(own_path()) {}

  int run() {
    take_signals();
    const auto signs = launch::LauncherSigns::now();
    if (const auto launcher = signs.launcher(); launcher || signs.offers_pmix()) return as_rank(signs);
    if (starts_here() && options_.nodes > choose_ranks()) {
      complain(kCommand,
               fmt::format("--nodes {}: more virtual nodes than the {} rank(s)", options_.nodes, choose_ranks()));
      return kUsage;
    }
    if (!options_.hosts.empty()) report_.rows = resolve(parse_hosts(options_.hosts), kResolve_s * stretch());
    const int ranks = choose_ranks();
    JobRun checks({launch_command(ranks, "checks"), {}, true});
    run_until(checks, kChecksPart);
    if (checks.has_begun()) allow_names();
    checks.add_to(report_);
    if (!checks.has_ended_well()) say_other_lines(checks);
    try_death(checks, ranks, launch_command(ranks, "death"), {}, "the same ranks");
    return end();
  }

 private:
  double stretch() const { return options_.limit_s / kStandardLimit_s; }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  void run_until(JobRun& job, double part) const {
    job.run([this, part] { return part * options_.limit_s - seconds(); });
  }

  std::vector<std::string> rank_command(const char* part) const {
    return {self_, "selftest", "--part", part, "--limit", fmt::format("{:g}", options_.limit_s)};
  }

  std::vector<std::string> launch_command(int ranks, const char* part) const {
    std::vector<std::string> command = {self_, "run", "-n", std::to_string(ranks)};
    const auto add = [&command](std::vector<std::string> words) {
      command.insert(command.end(), words.begin(), words.end());
    };
    if (const int nodes = choose_nodes(ranks); nodes > 0) add({"--nodes", std::to_string(nodes)});
    if (!options_.hosts.empty()) add({"--hosts", options_.hosts});
    if (!options_.launcher.empty()) add({"--launcher", options_.launcher});
    add({"--"});
    add(rank_command(part));
    return command;
  }

  bool starts_here() const { return options_.hosts.empty() && std::getenv("SLURM_JOB_ID") == nullptr; }

  int choose_ranks() const {
    if (options_.ranks > 0) return options_.ranks;
    int ranks = 0;
    for (const NamedHost& host : parse_hosts(options_.hosts)) ranks += host.ranks > 0 ? host.ranks : kRanksPerHost;
    if (ranks > 0) return ranks;
    if (starts_here()) return kRanksHere;
    return std::max({number_in("SLURM_NTASKS"), kRanksPerHost * number_in("SLURM_JOB_NUM_NODES"), 1});
  }

  int choose_nodes(int ranks) const {
    if (options_.nodes > 0) return options_.nodes;
    const bool chosen = !starts_here() || std::getenv("GRAPNEL_NODES") != nullptr;
    return chosen ? 0 : std::min(2, ranks);
  }

  // Names that the launcher alone knows (ssh's configuration) are as good as others.
  void allow_names() {
    for (Row& row : report_.rows) {
      if (row.verdict != Verdict::wrong) continue;
      row.verdict = Verdict::good;
      row.found += ", and the launcher reaches it";
      row.remedy.clear();
    }
  }

  // This process is a rank's. Rank 0's prints.
  int as_rank(const launch::LauncherSigns& signs) {
    JobRun checks({rank_command("checks"), {}, false});
    run_until(checks, kChecksPart);
    int rank = 0;
    for (const char* name : {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
      rank = signs.number(name).value_or(rank);
    }
    if (!checks.has_ended_well() || rank == 0) say_other_lines(checks);
    if (rank != 0) {
      if (checks.exit_code() != 0) std::this_thread::sleep_for(kRankZeroFirst);  // rank 0 prints why
      return checks.exit_code() == 0 ? 0 : 1;
    }
    checks.add_to(report_);
    std::vector<std::string> command = {self_, "run", "-n", std::to_string(kRanksOfDeath), "--nodes", "2", "--"};
    for (std::string& word : rank_command("death")) command.push_back(std::move(word));
    try_death(checks, kRanksOfDeath, std::move(command), kLaunchersVariables, "a job of rank 0's machine");
    return end();
  }

  void try_death(const JobRun& checks, int ranks, std::vector<std::string> command, std::vector<std::string> unset,
                 const char* where) {
    Row row{.section = "death", .name = "a planted death", .where = where, .verdict = Verdict::not_here};
    if (!checks.has_ended_well() || report_.verdict() == Verdict::wrong) {
      row.found = "not tried, because something above is wrong";
    } else if (ranks < 2) {
      row.found = "there is one rank";
    } else {
      JobRun death({std::move(command), std::move(unset), true});
      run_until(death, kDeathPart);
      judge_death(death, row);
      if (row.verdict == Verdict::wrong) say_other_lines(death);
    }
    report_.rows.push_back(std::move(row));
  }

  static void judge_death(const JobRun& death, Row& row) {
    row.verdict = Verdict::wrong;
    row.remedy = "grapnel status and docs/launch.md (liveness) show what the ranks still wait for";
    if (!death.victim()) {
      if (const auto failure = death.failure()) row.found = failure->found, row.remedy = failure->remedy;
      return;
    }
    // Slurm has tasks: "task 2: Killed".
    const std::regex right(
        fmt::format(R"(\b(rank|task) {}\b.*(died|dead|killed|Killed|exited|lost))", *death.victim()));
    constexpr std::string_view kOurs = "grapnel";  // a rank's or `grapnel run`'s, not a launcher's
    const std::regex other(R"(\brank (\d+) (on host \S+ )?(\(\S+\) )?died)");
    std::string named, misnamed;
    for (const std::string& line : death.other_lines()) {
      std::smatch match;
      if (std::regex_search(line, right) && (named.empty() || line.starts_with(kOurs))) named = line;
      if (std::regex_search(line, match, other) && std::atoi(match[1].str().c_str()) != *death.victim())
        misnamed = line;
    }
    const std::string took =
        fmt::format("rank {} was killed, and the job was over {:.1f} s later", *death.victim(), death.seconds_to_end());
    if (death.seconds_to_end() > kInTime_s) {
      row.found = took + fmt::format(": more than {:.0f} s", kInTime_s);
    } else if (!misnamed.empty() && !named.starts_with(kOurs)) {
      // Beside a line of ours that names the right one it is no mistake: a launcher ends the other ranks, too, and
      // those that are left notice that.
      row.found = took + "; another rank was named: " + misnamed;
    } else if (named.empty()) {
      row.found = took + "; no line named it";
    } else {
      row.verdict = Verdict::good;
      row.remedy.clear();
      row.found = took + ": " + named;
    }
  }

  static void say_other_lines(const JobRun& job) {
    for (const std::string& line : job.other_lines()) complain("  job", line);
  }

  int end() {
    report_.seconds = seconds();
    bool written = print(kCommand, as_table(report_));
    if (!options_.json.empty()) {
      std::ofstream file(options_.json);
      file << as_json(report_);
      file.close();
      if (!file) {
        complain(kCommand, fmt::format("cannot write {}", options_.json));
        written = false;
      }
    }
    return written && report_.verdict() == Verdict::good ? 0 : 1;
  }

  const SelftestOptions& options_;
  const std::string self_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Report report_;
};

}  // namespace
}  // namespace selftest

int run_selftest(const SelftestOptions& options) {
  const double stretch = options.limit_s / selftest::kStandardLimit_s;
  if (options.part == "checks") return selftest::run_checks(stretch);
  if (options.part == "death") return selftest::run_death(stretch);
  return selftest::Front(options).run();
}

}  // namespace grapnel::tool
