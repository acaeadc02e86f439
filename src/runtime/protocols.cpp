#include "runtime/protocols.hpp"

#include "launch/launch.hpp"
#include "rma/ways.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace grapnel::runtime {

Result<ProtocolTable> protocol_table(const base::Config& config) {
  const launch::NodeMap two_nodes = launch::make_node_map({"here", "here"}, 2);
  const auto transport = transport::make_ucx_transport(config, two_nodes, NodeId{0});
  if (!transport) return transport.status();
  const transport::Capabilities& fabric = (*transport)->capabilities();
  ProtocolTable table{fabric.name, {}};
  for (const rma::Ways::Row& row : rma::Ways(config, fabric).rows()) {
    table.rows.push_back({row.operation, row.form, row.from_row_bytes, row.way});
  }
  return table;
}

}  // namespace grapnel::runtime
