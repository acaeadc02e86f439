// A box for short letters between processes of one machine; a letter may carry an open descriptor.
//
// A datagram socket in the abstract namespace: it has a name but no file, so nothing is left behind whatever is killed.
// The name is random, not a secret (/proc/net/unix lists it); the kernel names the sender, and letters of another user
// are dropped unread. Error texts never show the name.
//
// Threads: `send` from any thread; `receive` from one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// Bytes of a letter at most, and at least one.
inline constexpr std::size_t kMaxLetterBytes = 4096;
/// Characters of a mailbox's or a listener's name at most.
inline constexpr std::size_t kMaxSocketNameBytes = 100;

struct Letter {
  Bytes bytes;
  Descriptor descriptor;  ///< not valid() where none came along
  int sender_pid = 0;     ///< from the kernel
};

class Mailbox {
 public:
  /// A mailbox named `name`. Errors: invalid_argument (name empty or too long), unavailable (name taken), system.
  static Result<Mailbox> open(const std::string& name);

  /// Puts a letter into the box named `to`; returns when it lies there. `descriptor` may be null; it is duplicated, so
  /// the caller may close his at once. A full box is tried again for `timeout_ns`.
  /// Errors: peer_dead (no such box: its owner has not opened it or is gone), timed_out, invalid_argument (size),
  /// system.
  Status send(const std::string& to, ByteView bytes, const Descriptor* descriptor, std::uint64_t timeout_ns) const;

  /// The next letter of this user's processes. Errors: timed_out (0: only looks), system.
  Result<Letter> receive(std::uint64_t timeout_ns);

  /// For poll(2): readable when a letter may be there.
  int number() const { return socket_.number(); }

 private:
  explicit Mailbox(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace grapnel::os
