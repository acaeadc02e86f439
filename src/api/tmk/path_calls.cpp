// open, fopen and stat: a path, and what stat fills, may lie in the heap.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "api/tmk/next_call.hpp"

using namespace grapnel::tmk;

namespace {

constinit NextCall<int(const char*, int, ...)> next_open("open");
constinit NextCall<FILE*(const char*, const char*)> next_fopen("fopen");
constinit NextCall<int(const char*, struct stat*)> next_stat("stat");

bool touch_text(const char* text) { return in_heap(text) && touch(text, std::strlen(text) + 1, false); }

int open_file(const char* path, int flags, va_list more) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = creates ? va_arg(more, mode_t) : 0;
  return with_access([=] { return touch_text(path); }, [=] { return next_open(path, flags, mode); });
}

}  // namespace

extern "C" {

GRAPNEL_API int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int file = open_file(path, flags, more);
  va_end(more);
  return file;
}

GRAPNEL_API FILE* fopen(const char* path, const char* mode) {
  const auto touch_all = [=] {
    const bool of_path = touch_text(path);
    return touch_text(mode) || of_path;
  };
  return with_access(touch_all, [=] { return next_fopen(path, mode); });
}

GRAPNEL_API int stat(const char* path, struct stat* status) noexcept {
  const auto touch_all = [=] {
    const bool of_path = touch_text(path);
    return touch(status, sizeof *status, true) || of_path;
  };
  return with_access(touch_all, [=] { return next_stat(path, status); });
}

// The names that _FILE_OFFSET_BITS=64 gives them.
GRAPNEL_API int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int file = open_file(path, flags | O_LARGEFILE, more);
  va_end(more);
  return file;
}

GRAPNEL_API FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

GRAPNEL_API int stat64(const char* path, struct stat64* status) noexcept {
  static_assert(sizeof(struct stat) == sizeof(struct stat64), "a machine of 64 bits");
  return stat(path, reinterpret_cast<struct stat*>(status));
}

}  // extern "C"
