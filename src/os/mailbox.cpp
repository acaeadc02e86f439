// SPDX-License-Identifier: Apache-2.0
#include "os/mailbox.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/units.hpp"
#include "os/internal/deadline.hpp"
#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

using internal::Deadline;
using internal::system_error;

// A letter carries one descriptor; a stranger may send more, and each that fits is taken in order to be closed.
constexpr std::size_t kMaxDescriptors = 8;

// Sends one datagram; errno is left as sendmsg set it.
bool send_once(int socket, ByteView bytes, const Descriptor* descriptor) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = descriptor->number();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

// What the kernel said beside the bytes. Takes over every descriptor, so that a dropped letter closes them.
struct Attachments {
  std::optional<ucred> sender;
  std::vector<Descriptor> descriptors;
};

Attachments take_attachments(msghdr& message) {
  Attachments found;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) {
      std::memcpy(&found.sender.emplace(), CMSG_DATA(header), sizeof(ucred));
    } else if (header->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
        found.descriptors.emplace_back(number);
      }
    }
  }
  return found;
}

// One datagram: a letter, or nothing where it was not one of ours. Errors: timed_out where none is there.
Result<std::optional<Letter>> receive_once(int socket) {
  Letter letter;
  letter.bytes.resize(kMaxLetterBytes);
  iovec part{letter.bytes.data(), letter.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN) return Status(Code::timed_out, "no letter is there");
    if (errno == EINTR) return std::optional<Letter>{};
    return system_error("receiving a letter", errno);
  }
  Attachments attachments = take_attachments(message);
  // The kernel reports the sender's real user.
  const bool ours = attachments.sender.has_value() && attachments.sender->uid == ::getuid();
  const bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && attachments.descriptors.size() <= 1;
  if (!ours || !whole || got == 0) return std::optional<Letter>{};
  letter.bytes.resize(static_cast<std::size_t>(got));
  letter.sender_pid = attachments.sender->pid;
  if (!attachments.descriptors.empty()) letter.descriptor = std::move(attachments.descriptors.front());
  return std::optional<Letter>(std::move(letter));
}

}  // namespace

Result<Mailbox> Mailbox::open(const std::string& name) {
  GRAPNEL_ASSIGN_OR_RETURN(auto socket, internal::create_bound_socket(SOCK_DGRAM, name));
  return Mailbox(std::move(socket));
}

Status Mailbox::send(const std::string& to, ByteView bytes, const Descriptor* descriptor,
                     std::uint64_t timeout_ns) const {
  if (bytes.empty() || bytes.size() > kMaxLetterBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("a letter has 1 to {} bytes, not {}", kMaxLetterBytes, bytes.size()));
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto address, internal::abstract_address(to));
  // A socket of its own for each letter: only a connected one can be polled for room in the receiver's queue.
  GRAPNEL_ASSIGN_OR_RETURN(const auto socket, internal::create_socket(SOCK_DGRAM));
  if (::connect(socket.number(), address.get(), address.bytes) != 0) {
    if (errno == ECONNREFUSED) return Status(Code::peer_dead, "the receiver of a letter has no mailbox open");
    return system_error("finding a mailbox", errno);
  }
  const Deadline deadline(timeout_ns);
  while (!send_once(socket.number(), bytes, descriptor)) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error == ECONNREFUSED || error == ECONNRESET || error == ENOTCONN) {
      return Status(Code::peer_dead, "the receiver of a letter is gone");
    }
    // ETOOMANYREFS, ENOBUFS: too many descriptors of this user are under way; they drain as others receive.
    const bool full = error == EAGAIN;
    if (!full && error != ETOOMANYREFS && error != ENOBUFS) return system_error("sending a letter", error);
    const bool go_on = full ? deadline.wait_for(socket.number(), POLLOUT) : deadline.pause(base::kMillisecond_ns);
    if (!go_on) return Status(Code::timed_out, "the receiver of a letter does not empty its mailbox");
  }
  return {};
}

Result<Letter> Mailbox::receive(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  while (true) {
    auto received = receive_once(socket_.number());
    if (received.ok()) {
      // A letter that was dropped does not end the wait, but a flood of them does not prolong it either.
      if (received->has_value()) return std::move(**received);
      if (timeout_ns > 0 && deadline.passed()) return Status(Code::timed_out, "no letter came in time");
      continue;
    }
    if (received.status().code() != Code::timed_out) return received.status();
    if (!deadline.wait_for(socket_.number(), POLLIN)) return Status(Code::timed_out, "no letter came in time");
  }
}

}  // namespace grapnel::os
