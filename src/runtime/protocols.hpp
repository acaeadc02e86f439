// Which way each operation takes over the wire, as `grapnel info` prints it.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "grapnel/status.hpp"

namespace grapnel::runtime {

struct ProtocolTable {
  std::string transport;  ///< what was chosen between virtual nodes of this machine
  struct Row {
    std::string operation, form, from_row_bytes, way;
  };
  std::vector<Row> rows;
};

/// Starts and ends a transport as two virtual nodes of this machine would; milliseconds. Errors: system.
Result<ProtocolTable> protocol_table(const base::Config& config);

}  // namespace grapnel::runtime
