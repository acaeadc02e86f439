// SPDX-License-Identifier: Apache-2.0
#include "runtime/services.hpp"

#include "collective/collectives.hpp"
#include "dsm/shared_heaps.hpp"
#include "exchange/letters.hpp"
#include "launch/settings.hpp"
#include "locks/locks.hpp"
#include "progress/settings.hpp"
#include "progress/waiting.hpp"
#include "rma/service.hpp"
#include "runtime/settings.hpp"
#include "segment/segment.hpp"
#include "sync/barrier.hpp"
#include "sync/notifications.hpp"
#include "sync/signals.hpp"
#include "transport/settings.hpp"
#include "window/windows.hpp"

namespace grapnel::runtime {

const ServiceTypes& standard_services() {
  static const ServiceTypes services{
      &locks::kService,      &rma::kService,        &sync::kBarrierService, &sync::kNotificationService,
      &sync::kSignalService, &collective::kService, &dsm::kService,         &window::kService,
  };
  return services;
}

base::SettingsGroups settings_groups(const ServiceTypes& services) {
  base::SettingsGroups groups{&launch::Settings::group(), &transport::Settings::group(), &progress::Settings::group()};
  for (const core::ServiceType* service : services) {
    if (service->settings != nullptr) groups.push_back(&service->settings());
  }
  groups.push_back(&Settings::group());
  return groups;
}

std::vector<launch::NodeMemoryNeed> node_memory_needs(const ServiceTypes& services) {
  std::vector<launch::NodeMemoryNeed> needs{progress::node_memory_bytes, exchange::node_memory_bytes,
                                            segment::node_memory_bytes};
  for (const core::ServiceType* service : services) {
    if (service->node_memory_bytes != nullptr) needs.push_back(service->node_memory_bytes);
  }
  return needs;
}

}  // namespace grapnel::runtime
