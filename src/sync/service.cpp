// Barriers, notifications and signals as services of the runtime.
// SPDX-License-Identifier: Apache-2.0
#include "rma/service.hpp"
#include "core/core.hpp"
#include "sync/barrier.hpp"
#include "sync/notifications.hpp"
#include "sync/signals.hpp"

namespace grapnel::sync {
namespace {

std::size_t barrier_bytes(const launch::NodeMap&, NodeId) { return BarrierWords::kNodeMemoryBytes; }

Result<std::unique_ptr<core::Service>> open_barriers(core::Core& core, progress::HandlerId) {
  auto barriers = std::make_unique<Barriers>(core, core.service<rma::RmaService>().rma());
  GRAPNEL_TRY(barriers->open_world(core.world));
  return std::unique_ptr<core::Service>(std::move(barriers));
}

std::size_t notification_bytes(const launch::NodeMap& nodes, NodeId node) {
  return nodes.ranks_of[index(node)].size() * nodes.node_of.size() * sizeof(os::Word);
}

Result<std::unique_ptr<core::Service>> open_notifications(core::Core& core, progress::HandlerId) {
  return std::unique_ptr<core::Service>(std::make_unique<Notifications>(core, core.service<rma::RmaService>().rma()));
}

Result<std::unique_ptr<core::Service>> open_signals(core::Core& core, progress::HandlerId handler) {
  return std::unique_ptr<core::Service>(
      std::make_unique<Signals>(core, core.service<rma::RmaService>().rma(), handler));
}

}  // namespace

const core::ServiceType kBarrierService{"barrier", Settings::group, barrier_bytes, 0, open_barriers};
const core::ServiceType kNotificationService{"notify", nullptr, notification_bytes, 0, open_notifications};
const core::ServiceType kSignalService{"signal", nullptr, nullptr, 1, open_signals};

void Barriers::append_counts(std::vector<OperationCount>& rows) const {
  rows.push_back({"barrier", counts_.shared.value(), 0, counts_.wire.value(), 0, messages()});
}

void Signals::append_counts(std::vector<OperationCount>& rows) const {
  rows.push_back({"signal", counts_.shared.value(), 0, counts_.wire.value(), 0, counts_.messages.value()});
}

}  // namespace grapnel::sync
