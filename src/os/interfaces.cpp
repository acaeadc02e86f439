// SPDX-License-Identifier: Apache-2.0
#include "os/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace grapnel::os {

std::vector<Interface> network_interfaces() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  const auto address_of = [](const sockaddr* address) {
    sockaddr_in found;
    std::memcpy(&found, address, sizeof found);
    return found.sin_addr.s_addr;
  };
  std::vector<Interface> interfaces;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool leads_out = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!leads_out || one->ifa_addr == nullptr || one->ifa_netmask == nullptr) continue;
    if (one->ifa_addr->sa_family != AF_INET) continue;
    Interface& found = interfaces.emplace_back();
    // A further address may have a label, eth0:1.
    const std::string_view name = std::string_view(one->ifa_name).substr(0, std::string_view(one->ifa_name).find(':'));
    std::copy_n(name.begin(), std::min(name.size(), found.name.size() - 1), found.name.begin());
    found.address = address_of(one->ifa_addr);
    found.mask = address_of(one->ifa_netmask);
  }
  return interfaces;
}

}  // namespace grapnel::os
