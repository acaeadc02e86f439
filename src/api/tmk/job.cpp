// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

namespace grapnel::tmk {

Job* the_job = nullptr;

Job& job_of(const char* call) {
  if (the_job == nullptr) stop(fmt::format("{}: called before Tmk_startup or after Tmk_exit", call));
  return *the_job;
}

namespace {

constexpr auto kFlush = std::chrono::milliseconds(500);

// Buffered output is written, as by exit. A stream may be locked by a thread that waits for input from it; so another
// thread flushes, standard output first, and the job ends after some time without the rest.
void flush_streams() {
  const auto done = std::make_shared<std::promise<void>>();
  auto flushed = done->get_future();
  std::thread([done] {
    std::fflush(stdout);
    std::fflush(nullptr);
    done->set_value();
  }).detach();
  flushed.wait_for(kFlush);
}

}  // namespace

void stop(const std::string& why, int exit_code) {
  flush_streams();
  if (the_job != nullptr) the_job->runtime->abort(exit_code, why);
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(exit_code);
}

void must(const char* call, const Status& status) {
  if (!status.ok()) stop(fmt::format("{}: {}", call, status.message()));
}

}  // namespace grapnel::tmk
