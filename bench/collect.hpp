// The scenario `rma`: its rows, and the jobs that measure them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "session.hpp"

namespace grapnel::bench {

struct RmaOptions {
  std::string filter;
  Effort effort;
};

/// The rows that hold the filter, in the order in which they are measured.
std::vector<std::string> rma_rows(const std::string& filter);

/// Starts the jobs one after the other and hands on every row as soon as it is there. False when a job failed (what it
/// said is on stderr).
bool collect_rma(const RmaOptions& options, const std::function<void(const Measurement&)>& on_row);

}  // namespace grapnel::bench
