// The part of `grapnel info` about the transport layer and the table of protocols.
// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"
#include "runtime/protocols.hpp"

namespace grapnel::tool {
namespace {

const char* yes(bool value) { return value ? "yes" : "no"; }

}  // namespace

std::vector<Section> transport_sections(const base::Config& config) {
  std::vector<Section> sections;
  Section found{"transports found (ucx)",
                {{"transport", "device", "native put", "native get", "native atomics", "notices deaths", "done by"}}};
  if (const auto transports = runtime::transports_found()) {
    for (const runtime::TransportFound& row : *transports) {
      found.rows.push_back({row.name, row.device, yes(row.native_put), yes(row.native_get), row.atomics,
                            yes(row.notices_deaths), row.done_by});
    }
  } else {
    found.rows.push_back({"none", transports.status().to_string(), "", "", "", "", ""});
  }
  sections.push_back(std::move(found));
  Section protocols{"protocols between virtual nodes here", {{"operation", "form", "rows from (bytes)", "way"}}};
  if (const auto table = runtime::protocol_table(config)) {
    protocols.title += " (" + table->transport + ")";
    for (const auto& row : table->rows) {
      protocols.rows.push_back({row.operation, row.form, row.from_row_bytes, row.way});
    }
  } else {
    protocols.rows.push_back({"none", table.status().to_string(), "", ""});
  }
  sections.push_back(std::move(protocols));
  return sections;
}

}  // namespace grapnel::tool
