// What ucx_rate measures on: the least that a round trip and a stream need, over our Worker or over bare UCP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grapnel/types.hpp"

namespace grapnel::testing {

class Wire {
 public:
  virtual ~Wire() = default;
  virtual Bytes address() = 0;
  virtual void connect(ByteView address) = 0;
  /// `payload` stays untouched until `under_way` is zero again.
  virtual void send(ByteView header, ByteView payload) = 0;
  virtual bool progress() = 0;
  virtual std::size_t under_way() const = 0;
  /// Called with each message's header and payload.
  std::function<void(ByteView, ByteView)> on_message;
};

/// Bare UCP with `settings` for ucp_config_modify, whose messages have this active message id. It includes none of the
/// transport's headers.
std::unique_ptr<Wire> make_bare_wire(const std::vector<std::pair<std::string, std::string>>& settings, unsigned id = 1);
std::unique_ptr<Wire> make_worker_wire();

}  // namespace grapnel::testing
