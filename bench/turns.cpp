// SPDX-License-Identifier: Apache-2.0
#include "turns.hpp"

#include <fmt/format.h>

namespace grapnel::bench {
namespace {

constexpr int kJobTimeout_s = 240;

std::vector<std::string> on_virtual_nodes(const JobKind& kind, const std::vector<std::string>& settings) {
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), settings.begin(), settings.end());
  command.insert(command.end(), {beside("grapnel"), "run", "-n", std::to_string(kind.ranks), "--nodes",
                                 std::to_string(kind.nodes), "--timeout", std::to_string(kJobTimeout_s), "--"});
  return command;
}

}  // namespace

std::vector<std::string> job_command(const JobKind& kind, const Effort& effort, const SharedPage& board,
                                     const std::string& filter, const std::vector<std::string>& settings,
                                     const Lab* lab) {
  std::vector<std::string> command =
      lab == nullptr ? on_virtual_nodes(kind, settings) : lab->run("openmpi", kind.ranks, kJobTimeout_s, settings);
  command.insert(command.end(), {beside("grapnel-bench"), "rank", kind.name, "--board", board.path(), "--runs",
                                 std::to_string(effort.pairs)});
  if (!filter.empty()) command.insert(command.end(), {"--filter", filter});
  if (effort.quick) command.emplace_back("--quick");
  return command;
}

bool read_rows(Job& job, const OnRow& on_row) {
  while (const auto line = job.next_line()) {
    if (const auto measurement = from_line(*line)) {
      on_row(*measurement);
    } else {
      fmt::print(stderr, "{}\n", *line);
    }
  }
  return job.finish();
}

TurnJob::TurnJob(const JobKind& kind, const Effort& effort, const std::vector<std::string>& settings, const Lab* lab)
    : board_(lab == nullptr ? SharedPage::create() : SharedPage::create_in(lab->folder())),
      job_(job_command(kind, effort, board_, {}, settings, lab)) {}

bool TurnJob::join() {
  return board_.wait_joined([this] { return job_.is_alive(); });
}

bool TurnJob::run(double& time_ns) {
  board_.issue(Command::share);
  if (!board_.wait_done([this] { return job_.is_alive(); })) return false;
  time_ns = static_cast<double>(board_.result());
  return true;
}

bool TurnJob::end() {
  board_.issue(Command::quit);
  return read_rows(job_, [](const Measurement&) {});
}

}  // namespace grapnel::bench
