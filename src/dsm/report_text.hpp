// The report as text: JSON for the file (docs/dsm_report.md), and sentences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "dsm/findings.hpp"

namespace grapnel::dsm {

std::string json_of(const Sharing& sharing, const std::vector<Finding>& findings);

/// What was not noted, and why; empty where all was.
std::string gaps_of(const Sharing& sharing);

/// A line about the file, and one per finding.
std::string sentences_of(const Sharing& sharing, const std::vector<Finding>& findings, const std::string& file);

}  // namespace grapnel::dsm
