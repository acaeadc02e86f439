// recv, send and their from, to and msg forms.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include "api/tmk/next_call.hpp"

using namespace grapnel::tmk;

namespace {

constinit NextCall<ssize_t(int, void*, size_t, int)> next_recv("recv");
constinit NextCall<ssize_t(int, const void*, size_t, int)> next_send("send");
constinit NextCall<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom("recvfrom");
constinit NextCall<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto("sendto");
constinit NextCall<ssize_t(int, msghdr*, int)> next_recvmsg("recvmsg");
constinit NextCall<ssize_t(int, const msghdr*, int)> next_sendmsg("sendmsg");

}  // namespace

extern "C" {

GRAPNEL_API ssize_t recv(int socket, void* data, size_t bytes, int flags) {
  return with_writable(data, bytes, [=] { return next_recv(socket, data, bytes, flags); });
}

GRAPNEL_API ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  return with_readable(data, bytes, [=] { return next_send(socket, data, bytes, flags); });
}

GRAPNEL_API ssize_t recvfrom(int socket, void* data, size_t bytes, int flags, sockaddr* from, socklen_t* from_bytes) {
  return with_writable(data, bytes, [=] { return next_recvfrom(socket, data, bytes, flags, from, from_bytes); });
}

GRAPNEL_API ssize_t sendto(int socket, const void* data, size_t bytes, int flags, const sockaddr* to,
                           socklen_t to_bytes) {
  return with_readable(data, bytes, [=] { return next_sendto(socket, data, bytes, flags, to, to_bytes); });
}

GRAPNEL_API ssize_t recvmsg(int socket, msghdr* message, int flags) {
  return with_access([=] { return touch_pieces(message->msg_iov, message->msg_iovlen, true); },
                     [=] { return next_recvmsg(socket, message, flags); });
}

GRAPNEL_API ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  return with_access([=] { return touch_pieces(message->msg_iov, message->msg_iovlen, false); },
                     [=] { return next_sendmsg(socket, message, flags); });
}

}  // extern "C"
