// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocols.hpp"

#include "launch/launch.hpp"
#include "rma/ways.hpp"
#include "transport/choice.hpp"
#include "transport/ucx/ucx_capabilities.hpp"

namespace grapnel::runtime {

Result<std::vector<TransportFound>> transports_found() {
  GRAPNEL_ASSIGN_OR_RETURN(const auto rows, transport::describe_transports());
  std::vector<TransportFound> found;
  for (const transport::TransportRow& row : rows) {
    found.push_back({row.name, row.device, row.native_put, row.native_get, row.detects_dead_peers, row.how});
  }
  return found;
}

Result<ProtocolTable> protocol_table(const base::Config& config) {
  const launch::NodeMap two_nodes = launch::make_node_map({"here", "here"}, 2);
  const auto transport = transport::make_transport(config, two_nodes, NodeId{0}, 0);
  if (!transport) return transport.status();
  const transport::Capabilities& fabric = (*transport)->capabilities();
  ProtocolTable table{fabric.name, {}};
  for (const rma::Ways::Row& row : rma::Ways(config, fabric).rows()) {
    table.rows.push_back({row.operation, row.form, row.from_row_bytes, row.way});
  }
  return table;
}

}  // namespace grapnel::runtime
