// What mailbox and stream share: sockets in the abstract namespace, and errno in words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os::internal {

/// "what: words of the system", with the code `system`.
Status system_error(const char* what, int error);

struct SocketAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// Errors: invalid_argument when the name is empty or too long.
Result<SocketAddress> abstract_address(const std::string& name);

/// A socket of that type, non-blocking and close-on-exec.
Result<Descriptor> create_socket(int type);

/// A socket bound to that name. Errors: unavailable when the name is taken.
Result<Descriptor> create_bound_socket(int type, const std::string& name);

}  // namespace grapnel::os::internal
