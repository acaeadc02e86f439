// SPDX-License-Identifier: Apache-2.0
#include "os/internal/unix_socket.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "os/limits.hpp"
#include "os/mailbox.hpp"

namespace grapnel::os::internal {

Status system_error(const char* what, int error) {
  return Status(Code::system, fmt::format("{}: {}", what, error_words(error)));
}

Result<SocketAddress> abstract_address(const std::string& name) {
  static_assert(kMaxSocketNameBytes + 1 <= sizeof(sockaddr_un::sun_path));
  if (name.empty() || name.size() > kMaxSocketNameBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("a socket's name has 1 to {} characters, not {}", kMaxSocketNameBytes, name.size()));
  }
  SocketAddress result;
  result.address.sun_family = AF_UNIX;
  // The leading null character is what makes the name abstract: it lives in the network namespace, not in a file.
  std::memcpy(result.address.sun_path + 1, name.data(), name.size());
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result;
}

Result<Descriptor> create_socket(int type) {
  Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_error("creating a local socket", errno);
  return socket;
}

Result<Descriptor> create_bound_socket(int type, const std::string& name) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto address, abstract_address(name));
  auto socket = create_socket(type);
  if (!socket) return socket.status();
  // Before the name exists, so that no datagram can arrive without its sender's credentials.
  const int on = 1;
  if (::setsockopt(socket->number(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return system_error("asking for the senders' credentials", errno);
  }
  if (::bind(socket->number(), address.get(), address.bytes) != 0) {
    if (errno == EADDRINUSE) return Status(Code::unavailable, "the name of a local socket is taken already");
    return system_error("naming a local socket", errno);
  }
  return socket;
}

}  // namespace grapnel::os::internal
