// The rows of `sync` on hosts of a lab with a long wire, where time is network time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "peer_jobs.hpp"
#include "sync_pairing.hpp"

namespace grapnel::bench {

/// Their names.
std::vector<std::string> sync_lab_rows();

/// Makes the labs that the wanted rows need, one after the other, and takes them down. Where there can be none the rows
/// are skipped. False when a job failed.
bool collect_sync_lab(const std::function<bool(const std::string&)>& wants, const Effort& effort, const PeerSink& sink);

}  // namespace grapnel::bench
