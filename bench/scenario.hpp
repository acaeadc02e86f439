// A scenario: what one word behind `grapnel-bench` measures. The list of all of them is in scenarios.cpp; a new one is
// an object there, a section of bars.toml, and a part of docs/bench.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "peer_jobs.hpp"
#include "session.hpp"

namespace grapnel::bench {

/// What the command line asks for.
struct Wanted {
  std::string filter;  ///< rows whose name holds this; empty: all
  Effort effort;
};

struct Scenario {
  std::string name;      ///< on the command line
  std::string flag;      ///< not empty: chooses this one in place of the one before with the same name
  std::string help;      ///< a line of `--help`
  std::string section;   ///< of bars.toml, and what the rows of the JSON name
  int runs, quick_runs;  ///< pairs of a row, or rounds, where the command line gives no number

  /// The rows that are wanted, in the order in which they are measured.
  std::function<std::vector<std::string>(const Wanted&)> rows;
  /// Measures them and hands on every row as soon as it is there, and every row that cannot be measured on this
  /// machine. False when a job of ours failed (what it printed is on stderr).
  std::function<bool(const Wanted&, const PeerSink&)> collect;
};

/// In the order of `--help`.
const std::vector<Scenario>& scenarios();

}  // namespace grapnel::bench
