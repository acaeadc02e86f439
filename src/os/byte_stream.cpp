// SPDX-License-Identifier: Apache-2.0
#include "os/byte_stream.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

// The process at the other end: the one that listened, or the one that connected. Errors: system.
Result<ucred> peer_of(const Descriptor& socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return internal::system_error("asking for the user at the other end of a local connection", errno);
  }
  return peer;
}

}  // namespace

Status descriptor_error(const std::string& what, int error) { return internal::system_error(what.c_str(), error); }

Result<Descriptor> create_stream() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return descriptor_error("creating a local socket", errno);
  return socket;
}

Result<Descriptor> create_named_stream(const std::string& name) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto address, internal::abstract_address(name));
  auto socket = create_stream();
  if (!socket) return socket.status();
  if (::bind(socket->number(), address.get(), address.bytes) != 0) {
    if (errno == EADDRINUSE) return Status(Code::unavailable, "the name of a local socket is taken already");
    return internal::system_error("naming a local socket", errno);
  }
  return socket;
}

Status listen_on(const Descriptor& socket) {
  if (::listen(socket.number(), SOMAXCONN) == 0) return {};
  return internal::system_error("listening for local connections", errno);
}

Result<ConnectStep> try_connect(const Descriptor& socket, const std::string& name) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto address, internal::abstract_address(name));
  while (::connect(socket.number(), address.get(), address.bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return ConnectStep::busy;
    if (errno == ECONNREFUSED) return ConnectStep::refused;
    return internal::system_error("connecting to a process of this machine", errno);
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto peer, peer_of(socket));
  if (peer.uid == ::geteuid()) return ConnectStep::connected;
  return Status(Code::refused,
                fmt::format("a local connection leads to a process of user {}, not {}", peer.uid, ::geteuid()));
}

Result<Accepted> try_accept(const Descriptor& listener) {
  Accepted accepted;
  accepted.socket = Descriptor(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted.socket.valid()) {
    switch (errno) {
      case EAGAIN:
      case EINTR:
      case ECONNABORTED: return accepted;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        accepted.step = AcceptStep::no_descriptors;
        accepted.error = errno;
        return accepted;
      default: return internal::system_error("accepting a local connection", errno);
    }
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto peer, peer_of(accepted.socket));
  accepted.process = peer.pid;
  accepted.user = peer.uid;
  accepted.step = peer.uid == ::geteuid() ? AcceptStep::accepted : AcceptStep::another_user;
  if (accepted.step == AcceptStep::another_user) accepted.socket.reset();
  return accepted;
}

}  // namespace grapnel::os
