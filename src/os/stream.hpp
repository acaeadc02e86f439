// Connections between processes of one machine that end when one of them does: each end sees the other's death at once.
//
// SOCK_SEQPACKET in the abstract namespace: packets keep their bounds, and nothing is left in the file system. Both
// ends check that the other belongs to the same user. Error texts never show the name.
//
// Threads: one sender and one receiver per connection at a time; `accept` from one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// Bytes of a packet at most, and at least one (an empty packet would look like the end).
inline constexpr std::size_t kMaxPacketBytes = 4096;

/// With whom: processes of the same user; or also root's, at the end that accepts, and, for root, anybody's, at the end
/// that connects.
enum class Trust { same_user, root_too };

class Connection {
 public:
  Connection() = default;  ///< no connection

  /// Connects to the listener `name`, trying again for `timeout_ns` while there is none yet or its queue is full.
  /// Errors: timed_out, refused (another user's listener), invalid_argument (name), system.
  static Result<Connection> connect(const std::string& name, std::uint64_t timeout_ns, Trust trust = Trust::same_user);

  /// Sends one packet; waits at most `timeout_ns` for room. Errors: peer_dead, timed_out, invalid_argument (size),
  /// system.
  Status send(ByteView packet, std::uint64_t timeout_ns) const;

  /// The next packet. Errors: peer_dead when the other end is closed (its process may have died) and everything it sent
  /// has been received; timed_out (0: only looks); system.
  Result<Bytes> receive(std::uint64_t timeout_ns) const;

  bool valid() const { return socket_.valid(); }
  /// For poll(2): readable when a packet or the end has come.
  int number() const { return socket_.number(); }
  /// The process that connected, at the accepting end; the one that listened, at the connecting end.
  int peer_pid() const { return peer_pid_; }
  /// Closes this end now; the other end sees the end.
  void close() { socket_.reset(); }

 private:
  friend class Listener;
  Connection(Descriptor socket, int peer_pid) : socket_(std::move(socket)), peer_pid_(peer_pid) {}
  /// Asks the kernel for the process at the other end. Errors: refused (another user), system.
  static Result<Connection> adopt(Descriptor socket, bool also_root, bool also_anybody);

  Descriptor socket_;
  int peer_pid_ = 0;
};

class Listener {
 public:
  Listener() = default;  ///< no listener

  /// Errors: invalid_argument (name empty or too long), unavailable (name taken), system.
  static Result<Listener> listen(const std::string& name);

  /// The next connection of this user's processes; others are closed unheard. Errors: timed_out (0: looks at
  /// one connection at most, so that another user's do not hold the caller), system.
  Result<Connection> accept(std::uint64_t timeout_ns, Trust trust = Trust::same_user) const;

  bool valid() const { return socket_.valid(); }
  /// For poll(2): readable when someone may be waiting.
  int number() const { return socket_.number(); }

 private:
  explicit Listener(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace grapnel::os
