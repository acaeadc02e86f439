// Jobs that are there at the same time and take turns, so that what else the machine does meets them equally.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs.hpp"
#include "lab.hpp"
#include "measurement.hpp"
#include "rank.hpp"
#include "shared_page.hpp"

namespace grapnel::bench {

using OnRow = std::function<void(const Measurement&)>;

/// `settings`: "VARIABLE=value" for the job's ranks. On `lab`'s hosts, or on virtual nodes of this machine.
std::vector<std::string> job_command(const JobKind& kind, const Effort& effort, const SharedPage& board,
                                     const std::string& filter = {}, const std::vector<std::string>& settings = {},
                                     const Lab* lab = nullptr);

/// Hands on the rows that the job prints, until its end; anything else is written to stderr. True when it ended well.
bool read_rows(Job& job, const OnRow& on_row);

class TurnJob {
 public:
  TurnJob(const JobKind& kind, const Effort& effort, const std::vector<std::string>& settings = {},
          const Lab* lab = nullptr);
  /// Waits until it is ready. False when it ended.
  bool join();
  /// Does its share once; rank 0's time. False when it ended.
  bool run(double& time_ns);
  /// True when it ended well.
  bool end();
  SharedPage& board() { return board_; }

 private:
  SharedPage board_;
  Job job_;
};

}  // namespace grapnel::bench
