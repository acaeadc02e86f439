// read, write and their p and v forms, recv and send: the wrappers that make pages of the heap accessible first.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/tmk/next_call.hpp"

using namespace grapnel::tmk;

namespace {

constinit NextCall<ssize_t(int, void*, size_t)> next_read("read");
constinit NextCall<ssize_t(int, const void*, size_t)> next_write("write");
constinit NextCall<ssize_t(int, void*, size_t, off_t)> next_pread("pread");
constinit NextCall<ssize_t(int, const void*, size_t, off_t)> next_pwrite("pwrite");
constinit NextCall<ssize_t(int, const iovec*, int)> next_readv("readv");
constinit NextCall<ssize_t(int, const iovec*, int)> next_writev("writev");
constinit NextCall<ssize_t(int, const iovec*, int, off_t)> next_preadv("preadv");
constinit NextCall<ssize_t(int, const iovec*, int, off_t)> next_pwritev("pwritev");
constinit NextCall<ssize_t(int, void*, size_t, int)> next_recv("recv");
constinit NextCall<ssize_t(int, const void*, size_t, int)> next_send("send");

// Here no lock of the loader is taken in a signal handler that calls write.
[[gnu::constructor]] void find_all() {
  next_read.get(), next_write.get(), next_pread.get(), next_pwrite.get(), next_recv.get(), next_send.get();
  next_readv.get(), next_writev.get(), next_preadv.get(), next_pwritev.get();
}

bool touch_pieces(const iovec* pieces, int count, bool writes) {
  bool any = touch(pieces, sizeof(iovec) * static_cast<std::size_t>(count > 0 ? count : 0), false);
  for (int i = 0; i < count; ++i) any = touch(pieces[i].iov_base, pieces[i].iov_len, writes) || any;
  return any;
}

}  // namespace

extern "C" {

GRAPNEL_API ssize_t read(int file, void* data, size_t bytes) {
  return with_writable(data, bytes, [=] { return next_read(file, data, bytes); });
}

GRAPNEL_API ssize_t write(int file, const void* data, size_t bytes) {
  return with_readable(data, bytes, [=] { return next_write(file, data, bytes); });
}

GRAPNEL_API ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  return with_writable(data, bytes, [=] { return next_pread(file, data, bytes, offset); });
}

GRAPNEL_API ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  return with_readable(data, bytes, [=] { return next_pwrite(file, data, bytes, offset); });
}

// The names that _FILE_OFFSET_BITS=64 gives them.
GRAPNEL_API ssize_t pread64(int file, void* data, size_t bytes, off64_t offset) {
  return pread(file, data, bytes, offset);
}

GRAPNEL_API ssize_t pwrite64(int file, const void* data, size_t bytes, off64_t offset) {
  return pwrite(file, data, bytes, offset);
}

GRAPNEL_API ssize_t readv(int file, const iovec* pieces, int count) {
  return with_access([=] { return touch_pieces(pieces, count, true); },
                     [=] { return next_readv(file, pieces, count); });
}

GRAPNEL_API ssize_t writev(int file, const iovec* pieces, int count) {
  return with_access([=] { return touch_pieces(pieces, count, false); },
                     [=] { return next_writev(file, pieces, count); });
}

GRAPNEL_API ssize_t preadv(int file, const iovec* pieces, int count, off_t offset) {
  return with_access([=] { return touch_pieces(pieces, count, true); },
                     [=] { return next_preadv(file, pieces, count, offset); });
}

GRAPNEL_API ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  return with_access([=] { return touch_pieces(pieces, count, false); },
                     [=] { return next_pwritev(file, pieces, count, offset); });
}

GRAPNEL_API ssize_t preadv64(int file, const iovec* pieces, int count, off64_t offset) {
  return preadv(file, pieces, count, offset);
}

GRAPNEL_API ssize_t pwritev64(int file, const iovec* pieces, int count, off64_t offset) {
  return pwritev(file, pieces, count, offset);
}

GRAPNEL_API ssize_t recv(int socket, void* data, size_t bytes, int flags) {
  return with_writable(data, bytes, [=] { return next_recv(socket, data, bytes, flags); });
}

GRAPNEL_API ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  return with_readable(data, bytes, [=] { return next_send(socket, data, bytes, flags); });
}

}  // extern "C"
