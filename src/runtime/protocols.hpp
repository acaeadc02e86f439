// What this machine's transports can do, and which way each operation takes over the wire: for `grapnel info`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"

namespace grapnel::runtime {

/// A transport on a device of this machine.
struct TransportFound {
  std::string name, device;
  bool native_put = false, native_get = false, notices_deaths = false;
  std::string done_by;  ///< what carries out a put or get
  std::string atomics;  ///< those that the device executes by itself: "fetch-add, compare-swap"; "no"
};

/// Milliseconds. Errors: system.
Result<std::vector<TransportFound>> transports_found();

struct ProtocolTable {
  std::string transport;  ///< what is chosen between the nodes
  bool native = false;    ///< it has a put or a get of its own
  struct Row {
    std::string operation, form, from_row_bytes, way;
  };
  std::vector<Row> rows;
};

/// Starts and ends a transport as a rank of node `me` would; milliseconds. `interfaces`: those that the job has agreed
/// on. Errors: unavailable (no usable transport), system.
Result<ProtocolTable> protocol_table(const base::Config& config, const launch::NodeMap& nodes, NodeId me,
                                     const std::vector<std::string>& interfaces);
/// The same, as two virtual nodes of this machine would.
Result<ProtocolTable> protocol_table(const base::Config& config);

}  // namespace grapnel::runtime
