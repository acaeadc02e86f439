// SPDX-License-Identifier: Apache-2.0
#include "os/stream.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.hpp"
#include "os/internal/deadline.hpp"
#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

using internal::Deadline;
using internal::system_error;

// Time between two tries to connect to a listener that is not there yet.
constexpr std::uint64_t kRetry_ns = base::kMillisecond_ns;

Status closed() { return Status(Code::peer_dead, "the other end of a local connection is closed"); }

}  // namespace

Result<Connection> Connection::adopt(Descriptor socket, bool also_root, bool also_anybody) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return system_error("asking who is at the other end of a local connection", errno);
  }
  if (peer.uid != ::geteuid() && !(also_root && peer.uid == 0) && !also_anybody) {
    return Status(Code::refused, fmt::format("a local connection leads to user {}, not {}", peer.uid, ::geteuid()));
  }
  return Connection(std::move(socket), peer.pid);
}

Result<Connection> Connection::connect(const std::string& name, std::uint64_t timeout_ns, Trust trust) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto address, internal::abstract_address(name));
  const Deadline deadline(timeout_ns);
  GRAPNEL_ASSIGN_OR_RETURN(auto socket, internal::create_socket(SOCK_SEQPACKET));
  while (::connect(socket.number(), address.get(), address.bytes) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    // Not there yet, or its queue of connections is full.
    if (error != ECONNREFUSED && error != EAGAIN) return system_error("connecting to a local process", error);
    if (!deadline.pause(kRetry_ns)) {
      return Status(Code::timed_out, error == EAGAIN ? "a local process does not accept connections"
                                                     : "a local process does not listen for connections");
    }
  }
  return adopt(std::move(socket), false, trust == Trust::root_too && ::geteuid() == 0);
}

Status Connection::send(ByteView packet, std::uint64_t timeout_ns) const {
  if (packet.empty() || packet.size() > kMaxPacketBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("a packet has 1 to {} bytes, not {}", kMaxPacketBytes, packet.size()));
  }
  const Deadline deadline(timeout_ns);
  while (::send(socket_.number(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EPIPE || error == ECONNRESET) return closed();
    if (error != EAGAIN) return system_error("sending to a local process", error);
    if (!deadline.wait_for(socket_.number(), POLLOUT)) {
      return Status(Code::timed_out, "a local process does not read its connection");
    }
  }
  return {};
}

Result<Bytes> Connection::receive(std::uint64_t timeout_ns) const {
  const Deadline deadline(timeout_ns);
  Bytes packet(kMaxPacketBytes);
  while (true) {
    const ssize_t got = ::recv(socket_.number(), packet.data(), packet.size(), 0);
    if (got > 0) {
      packet.resize(static_cast<std::size_t>(got));
      return packet;
    }
    if (got == 0) return closed();
    // A reset shows, once, that the other end closed without reading all of ours. What it sent before is still to be
    // read.
    if (errno == EINTR || errno == ECONNRESET) continue;
    if (errno != EAGAIN) return system_error("receiving from a local process", errno);
    if (!deadline.wait_for(socket_.number(), POLLIN)) {
      return Status(Code::timed_out, "nothing came over a local connection in time");
    }
  }
}

Result<Listener> Listener::listen(const std::string& name) {
  GRAPNEL_ASSIGN_OR_RETURN(auto socket, internal::create_bound_socket(SOCK_SEQPACKET, name));
  if (::listen(socket.number(), SOMAXCONN) != 0) return system_error("listening for local connections", errno);
  return Listener(std::move(socket));
}

Result<Connection> Listener::accept(std::uint64_t timeout_ns, Trust trust) const {
  const Deadline deadline(timeout_ns);
  while (true) {
    Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      auto connection = Connection::adopt(std::move(socket), trust == Trust::root_too, false);
      if (connection.ok() || connection.status().code() != Code::refused) return connection;
      if (timeout_ns == 0) return Status(Code::timed_out, "another user's process connected");
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN) return system_error("accepting a local connection", errno);
    if (!deadline.wait_for(socket_.number(), POLLIN)) {
      return Status(Code::timed_out, "no local process connected in time");
    }
  }
}

}  // namespace grapnel::os
