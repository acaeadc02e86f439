// The scenario `dsm --papers`: what the TreadMarks paper measures, in three ways of progress. Single operations of the
// shared heap here, the four programs in dsm_papers_programs.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "session.hpp"
#include "turns.hpp"

namespace grapnel::bench {

/// Rounds, where none are asked for.
inline constexpr int kPaperRounds = 3;
inline constexpr int kPaperRoundsQuick = 1;

/// How a node learns that something was sent to it.
struct WayOfProgress {
  std::string name;
  std::vector<std::string> settings;
};

/// The first is what the others are held against: the kernel's sockets and a server that sleeps until they wake it.
const std::vector<WayOfProgress>& ways_of_progress();

/// The rows whose name holds `filter`, in the order in which they are measured.
std::vector<std::string> dsm_paper_rows(const std::string& filter);

/// As `collect_rma`, on virtual nodes.
bool collect_dsm_papers(const std::string& filter, const Effort& effort, const OnRow& on_row);

/// The same of the programs alone.
std::vector<std::string> dsm_program_rows(const std::string& filter);
bool collect_dsm_programs(const std::string& filter, const Effort& effort, const OnRow& on_row);

/// Beside what more nodes measured than there are processors; else empty.
std::string shared_processors_note(int nodes);

}  // namespace grapnel::bench
