// The `grapnel` command: its words and options.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pthread.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "at_start.hpp"
#include "base/misspelt.hpp"
#include "info.hpp"
#include "output.hpp"
#include "run/options.hpp"
#include "selftest/options.hpp"
#include "status.hpp"

namespace {

using grapnel::tool::complain;
using grapnel::tool::print;

constexpr int kUsage = 2;

// `-np 4` is how mpirun has it; the parser reads it as -n with the value p.
std::string mistake_in_ranks(const std::string& text) {
  if (text == "p") return "-np is mpirun's option; here it is -n: grapnel run -n 4 -- ./program";
  int ranks = 0;
  const bool good = CLI::detail::lexical_cast(text, ranks) && ranks >= 1;
  return good ? "" : text + ": a job has at least one rank, and -n takes their number";
}

std::string mistake_in_number(const std::string& text) {
  int number = 0;
  return CLI::detail::lexical_cast(text, number) && number >= 1 ? "" : text + ": a number from 1 up";
}

// CLI::Range would take "nan", which is outside of nothing. More than this overflows what launchers count in.
std::string mistake_in_time_limit(const std::string& text) {
  constexpr double kLongest_s = 1e9;
  double seconds = 0;
  const bool good = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds <= kLongest_s;
  return good ? "" : text + ": seconds, more than 0 and at most 1e9";
}

CLI::App* add_run(CLI::App& app, grapnel::tool::RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Start a program as the ranks of a job: grapnel run -n 4 -- ./program …");
  run->add_option("-n", options.ranks, "ranks (default 1)")->check(mistake_in_ranks);
  run->add_option("--nodes", options.nodes, "split each machine into this many virtual nodes")
      ->check(mistake_in_number);
  run->add_flag("--label", options.label, "begin each line of output with its rank");
  run->add_flag("--mpi", options.mpi, "the program calls MPI_Init: start it with srun or its MPI's launcher");
  run->add_option("--hosts", options.hosts, "run on these hosts (a,b or a:2,b:1), with srun or mpirun");
  run->add_option("--launcher", options.launcher,
                  "hand over to this launcher (mpirun.openmpi, mpiexec.mpich, srun, …)");
  run->add_option("--timeout", options.timeout_s, "end the job after this many seconds")->check(mistake_in_time_limit);
  run->prefix_command();  // from the first word that is no option of ours, everything belongs to the program
  return run;
}

CLI::App* add_selftest(CLI::App& app, grapnel::tool::SelftestOptions& options) {
  CLI::App* selftest = app.add_subcommand(
      "selftest", "Try everything on these machines, in about a minute; also under mpirun or srun, as the ranks");
  selftest->add_option("-n", options.ranks, "ranks (default: 4 here, 2 per host)")->check(mistake_in_ranks);
  selftest->add_option("--nodes", options.nodes, "virtual nodes per machine (default: 2 on one machine)")
      ->check(mistake_in_number);
  selftest->add_option("--hosts", options.hosts, "on these hosts (a,b or a:2,b:1), with srun or mpirun");
  selftest->add_option("--launcher", options.launcher, "start the ranks with this launcher (mpirun.openmpi, srun, …)");
  selftest->add_option("--json", options.json, "write the results to this file, for programs");
  selftest->add_option("--limit", options.limit_s, "end after so many seconds (default 60)")
      ->check(mistake_in_time_limit);
  selftest->add_option("--part", options.part)->group("");  // of the ranks that it starts itself
  return selftest;
}

// Libraries start threads with the default stack, which is the stack limit: users raise it to more than there are
// addresses. This process is ours alone, so its default may be another; programs get the limit as it was.
void bound_default_stack() {
  constexpr std::size_t kStackBytes = 8 << 20;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t bytes = 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  if (bytes > kStackBytes && ::pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
    ::pthread_setattr_default_np(&attributes);
  }
  ::pthread_attr_destroy(&attributes);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(one->get_name());
  }
  return names;
}

// A word that is no command is answered with the nearest that is one.
std::optional<std::string> mistake_in_command(const CLI::App& app, const std::string& word) {
  if (word.front() == '-') return std::nullopt;
  const std::vector<std::string> names = commands_of(app);
  if (std::find(names.begin(), names.end(), word) != names.end()) return std::nullopt;
  const auto edits = [&word](const std::string& name) { return grapnel::base::edits_between(word, name); };
  const auto nearest = std::min_element(names.begin(), names.end(),
                                        [&](const auto& one, const auto& other) { return edits(one) < edits(other); });
  const std::string meant = edits(*nearest) <= 2 ? fmt::format("; did you mean `grapnel {}`?", *nearest) : "";
  return fmt::format("there is no command {} (there are: {}){}", word, fmt::join(names, ", "), meant);
}

// `command`: as far as it was understood.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error, const std::string& command) {
  std::ostringstream out;
  std::ostringstream errors;
  const bool good = app.exit(error, out, errors) == 0;
  if (good) return print(command, out.str()) ? 0 : 1;
  complain(command, fmt::format("{} ({} --help shows what there is)", error.what(), command));
  return kUsage;
}

// What CLI11 left over is the program; `rest` is the part of the command line from "--" on.
int run_program(const CLI::App& run, grapnel::tool::RunOptions options, const std::vector<std::string>& rest) {
  options.command = run.remaining();
  const bool program_before = !options.command.empty();  // then even the "--" is the program's
  if (program_before && options.command.front().front() == '-') {
    complain("grapnel run",
             fmt::format("there is no option {} (grapnel run --help lists them)", options.command.front()));
    return kUsage;
  }
  const auto skipped = rest.empty() || program_before ? rest.begin() : rest.begin() + 1;
  options.command.insert(options.command.end(), skipped, rest.end());
  return grapnel::tool::run(std::move(options));
}

}  // namespace

int main(int argc, char** argv) {
  grapnel::tool::set_right_what_was_inherited();
  bound_default_stack();
  CLI::App app{"Grapnel: one-sided communication and shared memory for clusters", "grapnel"};
  app.set_version_flag("--version", GRAPNEL_VERSION);
  app.require_subcommand(1);
  grapnel::tool::RunOptions options;
  CLI::App* run = add_run(app, options);
  CLI::App* info = app.add_subcommand("info", "Show version, build, transports, node map and every setting");
  bool json = false;
  info->add_flag("--json", json, "for programs");
  CLI::App* status = app.add_subcommand("status", "Show what the ranks of a running job wait for; disturbs nothing");
  int process = 0;
  status->add_option("process", process, "a launcher or a rank of the job (none: this user's jobs on this machine)")
      ->check(mistake_in_number);
  grapnel::tool::SelftestOptions selftest_options;
  CLI::App* selftest = add_selftest(app, selftest_options);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  if (const auto mistake = mistake_in_command(app, argv[1])) {
    complain("grapnel", *mistake);
    return kUsage;
  }
  // What is behind "--" is the program's and none of the parser's business.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parse(app, error,
                        *run        ? "grapnel run"
                        : *info     ? "grapnel info"
                        : *status   ? "grapnel status"
                        : *selftest ? "grapnel selftest"
                                    : "grapnel");
  }
  if (*selftest) return grapnel::tool::run_selftest(selftest_options);
  if (*status) return grapnel::tool::status(process);
  if (*run) return run_program(*run, std::move(options), {dashes, end});
  return grapnel::tool::info(json);
}
