// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_status.hpp"

#include <fmt/format.h>

#include "os/limits.hpp"

namespace grapnel::transport::ucx {
namespace {

// Every way in which UCX 1.13 reports that a connection ended, whichever side's transport noticed first. `canceled` is
// what operations get that waited behind the one that failed.
bool means_peer_gone(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_CANCELED:
    case UCS_ERR_IO_ERROR: return true;
    default: return false;
  }
}

Code code_of(ucs_status_t status) {
  if (means_peer_gone(status)) return Code::peer_dead;
  switch (status) {
    case UCS_ERR_NO_MEMORY: return Code::no_memory;
    case UCS_ERR_TIMED_OUT: return Code::timed_out;
    case UCS_ERR_NO_DEVICE:
    case UCS_ERR_UNSUPPORTED: return Code::unavailable;
    default: return Code::system;
  }
}

}  // namespace

Status to_status(ucs_status_t status, std::string_view doing) {
  if (status == UCS_OK) return {};
  return {code_of(status), fmt::format("UCX could not {}: {}", doing, ucs_status_string(status))};
}

Status to_local_status(ucs_status_t status, std::string_view doing) {
  if (status == UCS_OK) return {};
  const Code code = code_of(status);
  return {code == Code::peer_dead ? Code::system : code,
          os::with_limits_met(fmt::format("UCX could not {}: {}", doing, ucs_status_string(status)))};
}

}  // namespace grapnel::transport::ucx
