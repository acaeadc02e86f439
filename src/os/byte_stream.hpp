// Byte streams between processes of one machine, as single steps that never wait: for an event loop.
//
// SOCK_STREAM in the abstract namespace: nothing is left in the file system. The kernel vouches for the user at the
// other end (SO_PEERCRED), so a process of another user is rejected before one byte of its is read.
//
// Threads: any; one at a time per socket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "grapnel/status.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// "what: words of the system"; where descriptors ran out, with the limit and the remedy. Code: system.
Status descriptor_error(const std::string& what, int error);

/// A socket, non-blocking and close-on-exec. Errors: system.
Result<Descriptor> create_stream();
/// A socket with a name, which refuses connections until `listen_on`. Errors: invalid_argument (name), unavailable
/// (name taken), system.
Result<Descriptor> create_named_stream(const std::string& name);
Status listen_on(const Descriptor& socket);

enum class ConnectStep {
  connected,
  busy,     ///< the listener's queue is full: try again
  refused,  ///< no socket of that name listens
};
/// Errors: refused (the listener belongs to another user), invalid_argument (name), system.
Result<ConnectStep> try_connect(const Descriptor& socket, const std::string& name);

enum class AcceptStep {
  accepted,
  nothing,         ///< no connection waits
  another_user,    ///< one was closed: its process belongs to another user
  no_descriptors,  ///< one waits, and this process may open no more descriptors
};
struct Accepted {
  AcceptStep step = AcceptStep::nothing;
  Descriptor socket;  ///< where accepted
  unsigned user = 0;  ///< where it was another user's
  int process = 0;    ///< at the other end
  int error = 0;      ///< of no_descriptors
};
/// Errors: system.
Result<Accepted> try_accept(const Descriptor& listener);

}  // namespace grapnel::os
