// SPDX-License-Identifier: Apache-2.0
#include "rma/service.hpp"

#include "base/log.hpp"

namespace grapnel::rma {
namespace {

std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node) {
  return Stripes::kNodeMemoryBytes + segment::Lent::node_memory_bytes(nodes, node);
}

Result<std::unique_ptr<core::Service>> open(core::Core& core, progress::HandlerId) {
  return std::unique_ptr<core::Service>(std::make_unique<RmaService>(core));
}

}  // namespace

const core::ServiceType kService{"rma", Settings::group, node_memory_bytes, 0, open};

RmaService::RmaService(core::Core& core)
    : stripes_(core.launch),
      lent_(core.launch, core.host, core.segments),
      words_(core),
      rma_(core.config, core.launch, core.waiting, core.segments, stripes_, lent_, core.client, core.transport, words_),
      near_(core.segments, stripes_, core.host, lent_, core.launch.rank()),
      handlers_(core.segments, core.waiting, stripes_, lent_, core.launch.size()) {
  if (core.server != nullptr) handlers_.add_to(core.server->handlers());
}

Status RmaService::complete() {
  // Not sent now: what they read or write may be gone with the function that started them.
  if (const std::size_t kept = rma_.kept(); kept > 0) {
    base::log_warn("{} puts and gets on aggregate handles are dropped: nobody waited for them", kept);
  }
  return rma_.wait_all();
}

void RmaService::append_counts(std::vector<OperationCount>& rows) const {
  for (const OperationKind kind : kOperationKinds) {
    const OperationCounts &counts = rma_.counts(kind), &near = near_.counts(kind);
    rows.push_back({to_string(kind), counts.shared_operations.value() + near.shared_operations.value(),
                    counts.shared_bytes.value() + near.shared_bytes.value(), counts.wire_operations.value(),
                    counts.wire_bytes.value(), counts.wire_messages.value()});
  }
  const FenceCounts& fences = rma_.fence_counts();
  rows.push_back({"fence", 0, 0, fences.fences.value(), 0, fences.messages.value()});
}

}  // namespace grapnel::rma
