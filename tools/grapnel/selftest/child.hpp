// A process whose output is read line by line, with a time limit; a launcher or a rank.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::tool::selftest {

struct ChildOptions {
  std::vector<std::string> command;  ///< [0] is a path
  std::vector<std::string> unset;    ///< variables whose names begin so are taken out of the environment
  bool own_group = false;            ///< a process group of its own, which signals of the terminal do not reach
};

struct ChildEnd {
  int exit_code = 0;       ///< as a shell gives it; of one that was ended, that of the signal
  bool timed_out = false;  ///< it was ended because its time was over
  int signal = 0;          ///< it was ended because this process got this signal
};

/// Called for each line of its standard output, or (`error`) of its standard error, without the newline.
using OnLine = std::function<void(std::string_view line, bool error)>;

/// Starts it and reads until it has ended, or `seconds_left` answers nothing: then it gets SIGTERM, and soon
/// after SIGKILL. It dies with this process. Errors: system.
Result<ChildEnd> run_child(const ChildOptions& options, const std::function<double()>& seconds_left,
                           const OnLine& on_line);

/// From now on INT, TERM and HUP end the child that runs, and the next ones at once.
void take_signals();

}  // namespace grapnel::tool::selftest
