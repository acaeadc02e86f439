#include "turns.hpp"

#include <fmt/format.h>

namespace grapnel::bench {
namespace {

constexpr int kJobTimeout_s = 240;

}  // namespace

std::vector<std::string> job_command(const JobKind& kind, const Effort& effort, const Board& board,
                                     const std::string& filter, const std::vector<std::string>& settings) {
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), settings.begin(), settings.end());
  const std::vector<std::string> run = {beside("grapnel"),
                                        "run",
                                        "-n",
                                        std::to_string(kind.ranks),
                                        "--nodes",
                                        std::to_string(kind.nodes),
                                        "--timeout",
                                        std::to_string(kJobTimeout_s),
                                        "--",
                                        beside("grapnel-bench"),
                                        "rank",
                                        kind.name,
                                        "--board",
                                        board.path(),
                                        "--runs",
                                        std::to_string(effort.pairs)};
  command.insert(command.end(), run.begin(), run.end());
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

TurnJob::TurnJob(const JobKind& kind, const Effort& effort, const std::vector<std::string>& settings)
    : board_(Board::create()), job_(job_command(kind, effort, board_, {}, settings)) {}

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
