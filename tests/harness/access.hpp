// What is inside a Runtime (Runtime::implementation), for tests of single layers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/implementation.hpp"

namespace grapnel::test {

/// Whether memory and locks in the network domain can be had: adapters execute atomics, or there is one node.
inline bool has_network_domain(Runtime& g) {
  const auto& transport = g.implementation().transport;
  return transport == nullptr || transport->capabilities().native_atomics.suffice();
}

}  // namespace grapnel::test
