// A service: one part of the runtime above the core (locks, rma, sync, and what is built on them), with its settings,
// its words in node memory, its handlers and its counts.
//
// The composition root (runtime/services.hpp) has one array of ServiceTypes. It opens them in that order in every rank,
// and ends them in the opposite one. A service finds those that were opened before it by type (Core::service).
//
// Threads: the calls below come from the thread that starts or ends the runtime; `after_death` from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "grapnel/operation_count.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/message.hpp"

namespace grapnel::core {

struct Core;

/// Collective: every rank's bytes, by rank.
using Gather = std::function<Result<std::vector<Bytes>>(ByteView mine)>;

class Service {
 public:
  virtual ~Service() = default;

  /// Completes what this rank has started and not waited for, before the job's last barrier. Errors: those of the
  /// operations.
  virtual Status complete() { return {}; }
  /// The client ends after this call; the service sends nothing any more.
  virtual void before_client_ends() {}
  /// A rank of this node has died: `Launch::at_death`. Any thread.
  virtual void after_death(Rank) {}

  /// Appends this rank's rows of the operation table: the same rows in every rank.
  virtual void append_counts(std::vector<OperationCount>&) const {}
  /// Collective: what the service prints below the operation table with GRAPNEL_STATS=1, summed over all ranks by
  /// `gather`. Only rank 0's text is used. Errors: those of `gather`.
  virtual Result<std::string> report(const Gather&) { return std::string(); }
};

/// How the composition root makes a service.
struct ServiceType {
  const char* name;
  const base::SettingsGroup& (*settings)() = nullptr;  ///< null: it has no settings
  launch::NodeMemoryNeed node_memory_bytes = nullptr;  ///< null: it carves nothing
  std::uint16_t handlers = 0;                          ///< numbers that it wants beside those of its messages.hpp
  /// Collective: carves its words, registers its handlers (`core.server`, where there is one; the server starts later).
  /// `first_handler`: the first of its `handlers` numbers, the same one in every rank. Errors: those of the service.
  Result<std::unique_ptr<Service>> (*open)(Core& core, progress::HandlerId first_handler);
};

}  // namespace grapnel::core
