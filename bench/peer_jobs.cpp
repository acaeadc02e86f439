// SPDX-License-Identifier: Apache-2.0
#include "peer_jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "jobs.hpp"
#include "lab.hpp"

namespace grapnel::bench {
namespace {

using Words = std::vector<std::string>;

enum class Launcher { openmpi, mpich, grapnel };

// The programs lie in peers/ beside bin/. One that was not built is not measured.
struct Program {
  std::string name;
  Launcher launcher;
  std::string absence;  ///< why it is not there, where it is not
};

const Launcher kOurLauncher = std::string(GRAPNEL_PEER_OUR_MPI) == "mpich" ? Launcher::mpich : Launcher::openmpi;

const std::vector<Program>& programs() {
  static const std::string packages = "it was not built (./dev deps peers, then build again)";
  static const std::vector<Program> all = {
      {kOurCore, Launcher::grapnel, "it was not built (./dev build)"},
      {kOurArmci, kOurLauncher, "this build has no ARMCI interface"},
      {"openmpi-rma", Launcher::openmpi, packages},
      {"mpich-rma", Launcher::mpich, packages},
      {"openmpi-armci-mpi", Launcher::openmpi, packages},
      {"mpich-armci-mpi", Launcher::mpich, packages},
  };
  return all;
}

std::string path_of(const Program& program) { return beside("../peers/" + program.name); }
bool is_there(const Program& program) { return ::access(path_of(program).c_str(), X_OK) == 0; }
const Program& program_of_name(const std::string& name) {
  return *std::find_if(programs().begin(), programs().end(), [&](const Program& p) { return p.name == name; });
}

constexpr int kJobTimeout_s = 90;

struct Plan {
  int rounds;
  int operation_ms;
};

// Many short rounds: a job's threads lie on the processors as they happened to be put, and stay so to its end.
Plan plan_of(const Effort& effort) { return effort.quick ? Plan{3, 10} : Plan{std::max(3, effort.pairs / 4), 30}; }

Words same_node_command(const Program& program) {
  const std::string timeout = std::to_string(kJobTimeout_s);
  switch (program.launcher) {
    case Launcher::openmpi:
      return {GRAPNEL_PEER_MPIRUN, "-n", "2", "--oversubscribe", "--bind-to", "none", "--timeout", timeout};
    case Launcher::mpich: return {GRAPNEL_PEER_HYDRA, "-n", "2"};  // the program ends itself when it hangs
    case Launcher::grapnel: break;
  }
  return {beside("grapnel"), "run", "-n", "2", "--timeout", timeout, "--"};
}

Words two_hosts_command(const Lab& lab, const Program& program) {
  Words environment;
  // Without UCX, Debian's Open MPI has no windows between hosts.
  if (program.launcher == Launcher::openmpi && !is_ours(program.name)) {
    for (const char* setting : {"pml=ucx", "osc=ucx", "opal_common_ucx_tls=any", "opal_common_ucx_devices=any"}) {
      environment.push_back(fmt::format("OMPI_MCA_{}", setting));
    }
  }
  return lab.run(program.launcher == Launcher::mpich ? "mpich" : "openmpi", 2, kJobTimeout_s, environment);
}

// One job of one program; true when it ended well.
bool run_program(const Program& program, Words command, PeerPlace place, const Plan& plan, PeerValues& values) {
  command.insert(command.end(), {path_of(program), to_string(place), std::to_string(plan.operation_ms)});
  Job job(command);
  while (const auto line = job.next_line()) values.take(program.name, *line);
  const bool well = job.finish();
  if (!well) fmt::print(stderr, "grapnel-bench: {} failed ({})\n", program.name, to_string(place));
  return well;
}

bool measure_rounds(PeerPlace place, const Lab* lab, const Plan& plan, PeerValues& values) {
  bool ours_well = true;
  for (int round = 0; round < plan.rounds; ++round) {
    for (const Program& program : programs()) {
      if (!is_there(program)) continue;
      const Words command = lab == nullptr ? same_node_command(program) : two_hosts_command(*lab, program);
      const bool well = run_program(program, command, place, plan, values);
      ours_well &= well || !is_ours(program.name);
    }
  }
  for (const auto& [program, operation] : values.wrong()) {
    fmt::print(stderr, "grapnel-bench: {} gives wrong answers to {}: it is left out\n", program, operation);
    ours_well &= !is_ours(program);
  }
  return ours_well;
}

// Why a row cannot be measured in this build; empty: it can.
std::string obstacle(const PeerRow& row) {
  if (row.kind == PeerRow::Kind::front_end) {
    const Program& front_end = program_of_name(kOurArmci);
    return is_there(front_end) ? "" : front_end.absence;
  }
  const bool has_peer = std::any_of(programs().begin(), programs().end(),
                                    [](const Program& p) { return !is_ours(p.name) && is_there(p); });
  return has_peer || row.kind == PeerRow::Kind::idle ? "" : "no peer was built (./dev deps peers, then build again)";
}

std::vector<PeerRow> measurable_rows(PeerPlace place, const std::function<bool(const std::string&)>& wants,
                                     const PeerSink& sink) {
  std::vector<PeerRow> rows;
  for (const PeerRow& row : peer_rows(place)) {
    if (!wants(row.name)) continue;
    const std::string why = obstacle(row);
    if (why.empty()) {
      rows.push_back(row);
    } else {
      sink.on_skip(row.name, why);
    }
  }
  return rows;
}

bool collect_place(PeerPlace place, const Lab* lab, const Plan& plan, const std::vector<PeerRow>& rows,
                   const PeerSink& sink) {
  PeerValues values;
  const bool well = measure_rounds(place, lab, plan, values);
  const std::string& ours = is_there(program_of_name(kOurArmci)) ? kOurArmci : kOurCore;
  for (const PeerRow& row : rows) {
    if (const auto measurement = peer_measurement(row, place, values, ours)) {
      sink.on_row(*measurement);
    } else if (row.kind == PeerRow::Kind::best_peer && !values.best_peer(row.operation)) {
      sink.on_skip(row.name, "every peer failed at it");
    }
  }
  return well;
}

void skip_what_is_missing(const PeerSink& sink) {
  for (const Program& program : programs()) {
    if (!is_there(program)) sink.on_skip(program.name, program.absence);
  }
}

void let_open_mpi_run_as_root() {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

}  // namespace

bool collect_peers(const Effort& effort, const std::function<bool(const std::string&)>& wants, const PeerSink& sink) {
  const Plan plan = plan_of(effort);
  const std::vector<PeerRow> here = measurable_rows(PeerPlace::same_node, wants, sink);
  const std::vector<PeerRow> apart = measurable_rows(PeerPlace::two_hosts, wants, sink);
  if (here.empty() && apart.empty()) return true;
  skip_what_is_missing(sink);
  let_open_mpi_run_as_root();
  bool well = true;
  if (!here.empty()) well &= collect_place(PeerPlace::same_node, nullptr, plan, here, sink);
  if (apart.empty()) return well;
  const Lab lab(2);
  if (lab.is_up()) return collect_place(PeerPlace::two_hosts, &lab, plan, apart, sink) && well;
  for (const PeerRow& row : apart) sink.on_skip(row.name, "there can be no lab here (its reason is above)");
  return well;
}

}  // namespace grapnel::bench
