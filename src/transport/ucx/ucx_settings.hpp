// The settings of UCX, and what follows from them: which transports may carry messages, how puts and gets are done,
// whether a dead peer is noticed. docs/transport.md has the reason for each setting.
//
// The environment is read and never changed: the program's MPI reads it too. A user's UCX_ variable wins.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "launch/launch.hpp"
#include "transport/settings.hpp"
#include "transport/ucx/ucx_capabilities.hpp"

namespace grapnel::transport::ucx {

struct UcxSettings {
  std::string transports;                                    ///< UCX_TLS in force
  std::vector<std::pair<std::string, std::string>> changes;  ///< for ucp_config_modify, in order
  NativeWay native = NativeWay::none;
  bool detects_dead_peers = false;
  /// Of endpoints. tcp calls the error handler in either mode; see docs/transport.md.
  ucp_err_handling_mode_t error_mode = UCP_ERR_HANDLING_MODE_NONE;
  /// Every transport in use takes a message only when those before it have left: a flush needs no answer from the peer.
  bool leaves_in_turn = true;
  std::uint64_t secret = 0;  ///< the job's
  std::string over;          ///< between machines: which devices, for the message of a failure
};

/// `rows`: what the machine has, from describe_transports.
UcxSettings choose_settings(const base::Config& config, const launch::NodeMap& nodes,
                            const std::vector<TransportRow>& rows);

/// Between machines: of tcp only the named interfaces, where there are some and the user has set no UCX_NET_DEVICES.
void choose_devices(UcxSettings& settings, const std::vector<TransportRow>& rows,
                    const std::vector<std::string>& interfaces);

/// Of a start without a usable transport: the same failure, and, where the user chose devices (UCX_NET_DEVICES), those
/// that are here.
Status with_devices(const Status& failure, const std::vector<TransportRow>& rows);

/// Whether UCX_NET_DEVICES, where the user sets it, names the device.
bool is_chosen_device(std::string_view device);

/// A UCX configuration with the changes made; release it with ucp_config_release. Errors: system.
Result<ucp_config_t*> make_ucx_config(const UcxSettings& settings);

}  // namespace grapnel::transport::ucx
