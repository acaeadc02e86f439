// SPDX-License-Identifier: Apache-2.0
#include "runtime/internal/report.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"

namespace grapnel::runtime {
namespace {

struct Numbers {
  std::uint64_t shared_operations, shared_bytes, wire_operations, wire_bytes, wire_messages;
};

}  // namespace

Bytes encode(const std::vector<OperationCount>& rows) {
  base::Encoder encoder;
  for (const OperationCount& row : rows) {
    encoder.put(
        Numbers{row.shared_operations, row.shared_bytes, row.wire_operations, row.wire_bytes, row.wire_messages});
  }
  return encoder.take();
}

void add_encoded(std::vector<OperationCount>& rows, ByteView encoded) {
  base::Decoder decoder(encoded);
  for (OperationCount& row : rows) {
    const auto numbers = decoder.get<Numbers>();
    if (!numbers) return;
    row.shared_operations += numbers->shared_operations;
    row.shared_bytes += numbers->shared_bytes;
    row.wire_operations += numbers->wire_operations;
    row.wire_bytes += numbers->wire_bytes;
    row.wire_messages += numbers->wire_messages;
  }
}

std::string table(const std::vector<OperationCount>& rows) {
  std::string text = fmt::format("{:<18} {:>14} {:>16} {:>12} {:>16} {:>12}\n", "operation", "shared memory", "bytes",
                                 "wire", "bytes", "messages");
  for (const OperationCount& row : rows) {
    text += fmt::format("{:<18} {:>14} {:>16} {:>12} {:>16} {:>12}\n", row.operation, row.shared_operations,
                        row.shared_bytes, row.wire_operations, row.wire_bytes, row.wire_messages);
  }
  return text;
}

}  // namespace grapnel::runtime
