#include "runtime/internal/report.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"

namespace grapnel::runtime {
namespace {

struct Numbers {
  std::uint64_t shared_operations, shared_bytes, wire_operations, wire_bytes, wire_messages;
};

std::string duration(std::uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

}  // namespace

OperationCount row_of(rma::OperationKind kind, const rma::OperationCounts& counts) {
  return {to_string(kind),
          counts.shared_operations.value(),
          counts.shared_bytes.value(),
          counts.wire_operations.value(),
          counts.wire_bytes.value(),
          counts.wire_messages.value()};
}

OperationCount row_of(const rma::FenceCounts& counts) {
  return {"fence", 0, 0, counts.fences.value(), 0, counts.messages.value()};
}

OperationCount row_of(const sync::BarrierCounts& counts, std::uint64_t messages) {
  return {"barrier", counts.shared.value(), 0, counts.wire.value(), 0, messages};
}

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

std::string lock_table(const std::vector<LockCounts>& by_kind) {
  std::string text;
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    const LockCounts& counts = by_kind[kind];
    if (counts.acquisitions + counts.gave_up == 0) continue;
    if (text.empty()) {
      text = fmt::format("{:<18} {:>14} {:>16} {:>16} {:>12} {:>12} {:>12}\n", "locks", "acquisitions",
                         "local hand-offs", "remote hand-offs", "gave up", "messages", "by servers");
    }
    text += fmt::format("{:<18} {:>14} {:>16} {:>16} {:>12} {:>12} {:>12}\n", to_string(static_cast<LockKind>(kind)),
                        counts.acquisitions, counts.local_hand_offs, counts.remote_hand_offs, counts.gave_up,
                        counts.messages, counts.server_messages);
    for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) {
      if (counts.waits[k] == 0) continue;
      text += fmt::format("  waited < {:<10} {:>12}\n", duration(std::uint64_t{1} << k), counts.waits[k]);
    }
  }
  return text;
}

}  // namespace grapnel::runtime
