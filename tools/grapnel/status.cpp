// SPDX-License-Identifier: Apache-2.0
#include "status.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <string>

#include "output.hpp"
#include "runtime/job_status.hpp"

namespace grapnel::tool {
namespace {

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
  const std::string text = runtime::describe(runtime::ask(runtime::of_job(*all, process)));
  return text.empty() ? "no rank has joined the job\n" : text;
}

int status(int process) {
  const auto all = runtime::rank_processes();
  if (!all) return fail(all.status().message());
  const std::string text = runtime::describe(runtime::ask(process == 0 ? *all : runtime::of_job(*all, process)));
  if (text.empty()) return fail(reason_for_none(process));
  return print("grapnel status", text) ? 0 : 1;
}

}  // namespace grapnel::tool
