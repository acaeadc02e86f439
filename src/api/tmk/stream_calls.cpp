// fread and fwrite. libc moves large blocks by a system call of its own, straight from or to the program's memory, and
// counts whole elements; so they are asked for bytes, and after EFAULT for the bytes that are left.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "api/tmk/next_call.hpp"

using namespace grapnel::tmk;

namespace {

constinit NextCall<size_t(void*, size_t, size_t, FILE*)> next_fread("fread");
constinit NextCall<size_t(const void*, size_t, size_t, FILE*)> next_fwrite("fwrite");

/// Calls `move(done, left)`, which returns the bytes it moved, until all are, or until it ends with another error than
/// EFAULT or with the end of the file. The bytes moved.
template <typename Move>
std::size_t move_bytes(const void* data, std::size_t bytes, bool writes, FILE* stream, Move move) {
  const int kept = errno;
  std::size_t done = 0;
  for (int turn = 1; turn <= kMostTurns; ++turn) {
    touch(static_cast<const char*>(data) + done, bytes - done, writes);
    errno = 0;
    done += move(done, bytes - done);
    if (done == bytes || errno != EFAULT || turn == kMostTurns) break;
    std::clearerr(stream);
  }
  if (errno == 0) errno = kept;
  return done;
}

}  // namespace

extern "C" {

GRAPNEL_API size_t fread(void* data, size_t size, size_t count, FILE* stream) {
  std::size_t bytes = 0;
  if (!in_heap(data) || __builtin_mul_overflow(size, count, &bytes) || bytes == 0) [[likely]] {
    return next_fread(data, size, count, stream);
  }
  const auto move = [=](std::size_t done, std::size_t left) {
    return next_fread(static_cast<void*>(static_cast<char*>(data) + done), std::size_t{1}, left, stream);
  };
  return move_bytes(data, bytes, true, stream, move) / size;
}

GRAPNEL_API size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  std::size_t bytes = 0;
  if (!in_heap(data) || __builtin_mul_overflow(size, count, &bytes) || bytes == 0) [[likely]] {
    return next_fwrite(data, size, count, stream);
  }
  const auto move = [=](std::size_t done, std::size_t left) {
    return next_fwrite(static_cast<const void*>(static_cast<const char*>(data) + done), std::size_t{1}, left, stream);
  };
  return move_bytes(data, bytes, false, stream, move) / size;
}

}  // extern "C"
