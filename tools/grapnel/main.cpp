// The `grapnel` command: its words and options.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "at_start.hpp"
#include "info.hpp"
#include "run/options.hpp"

namespace {

std::string mistake_in_nodes(const std::string& text) {
  int nodes = 0;
  return CLI::detail::lexical_cast(text, nodes) && nodes >= 1 ? "" : text + ": a number from 1 up";
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
  run->add_option("-n", options.ranks, "ranks (default 1)");
  run->add_option("--nodes", options.nodes, "split each machine into this many virtual nodes")->check(mistake_in_nodes);
  run->add_flag("--label", options.label, "begin each line of output with its rank");
  run->add_flag("--mpi", options.mpi, "the program calls MPI_Init: start it with srun or mpirun");
  run->add_option("--hosts", options.hosts, "run on these hosts (a,b or a:2,b:1), with srun or mpirun");
  run->add_option("--launcher", options.launcher,
                  "hand over to this launcher (mpirun.openmpi, mpiexec.mpich, srun, …)");
  run->add_option("--timeout", options.timeout_s, "end the job after this many seconds")->check(mistake_in_time_limit);
  run->prefix_command();  // from the first word that is no option of ours, everything belongs to the program
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  grapnel::tool::set_right_what_was_inherited();
  CLI::App app{"Grapnel: one-sided communication and shared memory for clusters", "grapnel"};
  app.set_version_flag("--version", GRAPNEL_VERSION);
  app.require_subcommand(1);
  grapnel::tool::RunOptions options;
  CLI::App* run = add_run(app, options);
  CLI::App* info = app.add_subcommand("info", "Show version, build, transports, node map and every setting");
  bool json = false;
  info->add_flag("--json", json, "for programs");
  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return 2;
  }
  // What stands behind "--" is the program's and none of the parser's business.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*run) {
    options.command = run->remaining();
    const bool program_before = !options.command.empty();  // then even the "--" is the program's
    if (program_before && options.command.front().front() == '-') {
      std::fprintf(stderr, "grapnel run: there is no option %s (grapnel run --help lists them)\n",
                   options.command.front().c_str());
      return 2;
    }
    options.command.insert(options.command.end(), program_before || dashes == end ? dashes : dashes + 1, end);
    return grapnel::tool::run(std::move(options));
  }
  return grapnel::tool::info(json);
}
