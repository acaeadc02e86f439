// One line of the operation table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace grapnel {

/// How many operations of one kind used shared memory, and how many used messages between nodes.
struct OperationCount {
  std::string operation;
  std::uint64_t shared_operations = 0, shared_bytes = 0;
  std::uint64_t wire_operations = 0, wire_bytes = 0, wire_messages = 0;
};

}  // namespace grapnel
