#include "status.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <map>
#include <vector>

#include "output.hpp"
#include "runtime/job_status.hpp"

namespace grapnel::tool {
namespace {

using runtime::RankProcess;

int fail(const std::string& why) {
  complain("grapnel status", why);
  return 1;
}

std::string reason_for_none(int process) {
  if (process == 0) return "no job of this user runs on this machine";
  if (::kill(process, 0) != 0 && errno == ESRCH) return fmt::format("there is no process {}", process);
  return fmt::format(
      "process {} is neither a rank nor the launcher of ranks that answer this user here (a rank answers once it has "
      "joined its job, to its own user and to root)",
      process);
}

}  // namespace

std::string status_of_job(int process) {
  const auto all = runtime::rank_processes();
  if (!all) return fmt::format("{}\n", all.status().message());
  const auto answers = runtime::ask(runtime::of_job(*all, process), false);
  return answers.processes.empty() ? "no rank has joined the job\n" : runtime::describe(answers);
}

int status(int process) {
  const auto all = runtime::rank_processes();
  if (!all) return fail(all.status().message());
  std::map<std::uint64_t, std::vector<RankProcess>> jobs;
  for (const RankProcess& one : process == 0 ? *all : runtime::of_job(*all, process)) jobs[one.job].push_back(one);
  std::string text;
  for (const auto& [job, processes] : jobs) {
    const runtime::Answers answers = runtime::ask(processes, false);
    if (answers.processes.empty()) continue;  // another user's
    if (!text.empty()) text += '\n';
    text += runtime::describe(answers);
  }
  if (text.empty()) return fail(reason_for_none(process));
  return print("grapnel status", text) ? 0 : 1;
}

}  // namespace grapnel::tool
