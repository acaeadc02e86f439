// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocols.hpp"

#include "rma/ways.hpp"
#include "transport/choice.hpp"
#include "transport/ucx/ucx_capabilities.hpp"

namespace grapnel::runtime {
namespace {

std::string to_text(const transport::NativeAtomics& atomics) {
  std::string text;
  const auto add = [&](bool has, const char* name) {
    if (has) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(atomics.fetch_add, "fetch-add");
  add(atomics.compare_swap, "compare-swap");
  add(atomics.swap, "swap");
  return text.empty() ? "no" : text;
}

}  // namespace

Result<std::vector<TransportFound>> transports_found() {
  GRAPNEL_ASSIGN_OR_RETURN(const auto rows, transport::describe_transports());
  std::vector<TransportFound> found;
  for (const transport::TransportRow& row : rows) {
    found.push_back({row.name, row.device, row.native_put, row.native_get, row.detects_dead_peers, row.how,
                     to_text(transport::atomics_of(row))});
  }
  return found;
}

Result<ProtocolTable> protocol_table(const base::Config& config, const launch::NodeMap& nodes, NodeId me,
                                     const std::vector<std::string>& interfaces) {
  const auto transport = transport::make_transport(config, nodes, me, 0, interfaces);
  if (!transport) return transport.status();
  const transport::Capabilities& fabric = (*transport)->capabilities();
  const rma::Ways ways(config, fabric);
  ProtocolTable table{fabric.name, ways.any_native(), {}};
  for (const rma::Ways::Row& row : ways.rows()) {
    table.rows.push_back({row.operation, row.form, row.from_row_bytes, row.way});
  }
  return table;
}

Result<ProtocolTable> protocol_table(const base::Config& config) {
  return protocol_table(config, launch::make_node_map({"here", "here"}, 2), NodeId{0}, {});
}

}  // namespace grapnel::runtime
