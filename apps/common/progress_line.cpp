// The line ends with a carriage return, so that the next one replaces it.
// SPDX-License-Identifier: Apache-2.0
#include "common/progress_line.hpp"

#include <Tmk.h>
#include <unistd.h>

#include <cstdio>

namespace app {

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      on_(Tmk_proc_id == 0 && isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(200)) {}

ProgressLine::~ProgressLine() {
  if (printed_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::size_t done, std::size_t all) {
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  printed_ = true;
  std::fprintf(stderr, "\r\033[K%s %zu of %zu", what_.c_str(), done, all);
}

}  // namespace app
