// The collectives as a service of the runtime.
// SPDX-License-Identifier: Apache-2.0
#include "collective/collectives.hpp"
#include "collective/settings.hpp"

namespace grapnel::collective {
namespace {

Result<std::unique_ptr<core::Service>> open(core::Core& core, progress::HandlerId) {
  return std::unique_ptr<core::Service>(std::make_unique<Collectives>(core));
}

}  // namespace

const core::ServiceType kService{"collective", Settings::group, NodeWords::node_memory_bytes, 0, open};

void Collectives::append_counts(std::vector<OperationCount>& rows) const {
  for (const CallKind kind :
       {CallKind::broadcast, CallKind::reduce, CallKind::allreduce, CallKind::allgather, CallKind::alltoall}) {
    const Counts& counts = counts_[static_cast<std::size_t>(kind)];
    rows.push_back({name_of(kind), counts.shared.value(), counts.shared_bytes.value(), counts.wire.value(),
                    counts.wire_bytes.value(), counts.messages.value()});
  }
}

}  // namespace grapnel::collective
