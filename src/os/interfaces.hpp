// The machine's network interfaces that lead to other machines.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace grapnel::os {

/// Sent between machines as it is.
struct Interface {
  std::array<char, 16> name{};  ///< ends with a zero
  std::uint32_t address = 0;    ///< IPv4, in the network's byte order, as is the mask
  std::uint32_t mask = 0;

  std::string text() const { return name.data(); }
};

/// Those that are up and have an IPv4 address, without loopback; one entry per address. Empty where the kernel refuses.
std::vector<Interface> network_interfaces();

}  // namespace grapnel::os
