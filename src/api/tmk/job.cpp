// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace grapnel::tmk {

Job* the_job = nullptr;

Job& job_of(const char* call) {
  if (the_job == nullptr) stop(fmt::format("{}: called before Tmk_startup or after Tmk_exit", call));
  return *the_job;
}

// Output that the program has buffered is written first: it leads to the mistake.
void stop(const std::string& why, int exit_code) {
  std::fflush(nullptr);
  if (the_job != nullptr) the_job->runtime->abort(exit_code, why);
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(exit_code);
}

void must(const char* call, const Status& status) {
  if (!status.ok()) stop(fmt::format("{}: {}", call, status.message()));
}

}  // namespace grapnel::tmk
