// SPDX-License-Identifier: Apache-2.0
#include "transport/interfaces.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

namespace grapnel::transport {
namespace {

using os::Interface;

bool has_address_of(const std::vector<Interface>& machine, const Interface& mine) {
  return std::any_of(machine.begin(), machine.end(), [&](const Interface& its) { return its.address == mine.address; });
}

bool is_in_network_of(const std::vector<Interface>& machine, const Interface& mine) {
  return std::any_of(machine.begin(), machine.end(), [&](const Interface& its) {
    return its.address != mine.address && its.mask == mine.mask &&
           (its.address & its.mask) == (mine.address & mine.mask);
  });
}

std::vector<std::string> names_of(const std::vector<Interface>& interfaces) {
  std::vector<std::string> names;
  for (const Interface& one : interfaces) {
    if (std::find(names.begin(), names.end(), one.text()) == names.end()) names.push_back(one.text());
  }
  return names;
}

}  // namespace

std::vector<std::string> choose_interfaces(const std::vector<Interface>& mine,
                                           const std::vector<std::vector<Interface>>& other_machines) {
  std::vector<Interface> own, common;
  for (const Interface& one : mine) {
    const auto has_it = [&](const auto& machine) { return has_address_of(machine, one); };
    const auto reaches = [&](const auto& machine) { return is_in_network_of(machine, one); };
    if (std::any_of(other_machines.begin(), other_machines.end(), has_it)) continue;
    own.push_back(one);
    if (std::all_of(other_machines.begin(), other_machines.end(), reaches)) common.push_back(one);
  }
  return names_of(common.empty() ? own : common);
}

Result<std::vector<std::string>> agree_on_interfaces(launch::Launch& launch) {
  const launch::NodeMap& nodes = launch.nodes();
  const std::vector<Interface> mine = os::network_interfaces();
  if (launch.leads_node()) GRAPNEL_TRY(launch.publish("interfaces", std::as_bytes(std::span(mine))));
  GRAPNEL_TRY(launch.fence());
  std::set<std::string> seen{nodes.machine_of[index(launch.node())]};
  std::vector<std::vector<Interface>> others;
  for (std::size_t node = 0; node < nodes.node_count(); ++node) {
    if (!seen.insert(nodes.machine_of[node]).second) continue;
    GRAPNEL_ASSIGN_OR_RETURN(const auto bytes,
                             launch.lookup(nodes.leader(NodeId(static_cast<int>(node))), "interfaces"));
    std::vector<Interface>& theirs = others.emplace_back(bytes.size() / sizeof(Interface));
    if (!theirs.empty()) std::memcpy(theirs.data(), bytes.data(), theirs.size() * sizeof(Interface));
    for (Interface& one : theirs) one.name.back() = 0;
  }
  return choose_interfaces(mine, others);
}

}  // namespace grapnel::transport
