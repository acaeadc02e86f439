// SPDX-License-Identifier: Apache-2.0
#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/units.hpp"
#include "os/internal/memory_limits.hpp"
#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

using internal::system_error;

// Left to the machine, so that a job that takes "everything" does not end in the out-of-memory killer.
constexpr std::size_t kReserveBytes = 64 * base::kMiB;

// fallocate gives up and undoes its work when a signal arrives: a program with a profiling timer would never get past a
// large piece. So the pieces shrink while signals hit, and what is done stays done.
constexpr std::size_t kLargestPieceBytes = 256 * base::kMiB;
constexpr std::size_t kSmallestPieceBytes = 256 * base::kKiB;

double in_mib(std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(base::kMiB); }

// The kernel answers a file that is too long for the limit with a signal that ends the program.
Status check_file_limit(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur) return {};
  return Status(Code::unavailable,
                fmt::format("shared memory of {} bytes is a file to the kernel, and files are limited to {} bytes here "
                            "(ulimit -f); raise the limit or lower GRAPNEL_POOL_BYTES",
                            bytes, limit.rlim_cur));
}

}  // namespace

Result<Descriptor> create_shared_file(const char* label, std::size_t bytes) {
  GRAPNEL_TRY(check_file_limit(bytes));
  Descriptor file(::memfd_create(label, MFD_CLOEXEC));
  if (!file.valid()) return system_error("creating shared memory (memfd_create)", errno);
  if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
    return system_error("sizing shared memory (ftruncate)", errno);
  }
  return file;
}

Status reserve_shared_file(const Descriptor& file, std::size_t offset, std::size_t bytes) {
  std::size_t done = 0;
  std::size_t piece = kLargestPieceBytes;
  while (done < bytes) {
    const std::size_t now = std::min(piece, bytes - done);
    if (::fallocate(file.number(), 0, static_cast<off_t>(offset + done), static_cast<off_t>(now)) == 0) {
      done += now;
      continue;
    }
    const int error = errno;
    if (error == EINTR) {
      piece = std::max(kSmallestPieceBytes, piece / 2);
      continue;
    }
    if (done > 0) static_cast<void>(release_shared_file(file, offset, done));
    if (error == ENOMEM || error == ENOSPC) {
      return Status(Code::no_memory, fmt::format("the kernel gave {:.1f} of {:.1f} MiB of shared memory and no more",
                                                 in_mib(done), in_mib(bytes)));
    }
    return system_error("taking shared memory (fallocate)", error);
  }
  return {};
}

Status release_shared_file(const Descriptor& file, std::size_t offset, std::size_t bytes) {
  while (bytes > 0 && ::fallocate(file.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                  static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return system_error("giving shared memory back (fallocate)", errno);
  }
  return {};
}

void prepare_writes(void* begin, std::size_t bytes) {
  const int error = errno;
  static_cast<void>(::madvise(begin, bytes, MADV_POPULATE_WRITE));
  errno = error;
}

MemoryLimit tightest_memory_limit() { return internal::tightest_memory_limit_below(""); }

std::size_t memory_available() { return tightest_memory_limit().available_bytes; }

Status check_memory_limit(std::size_t bytes, const MemoryLimit& limit) {
  const std::size_t reserve = std::max(kReserveBytes, limit.available_bytes / 100);
  const std::size_t usable = limit.available_bytes - std::min(reserve, limit.available_bytes);
  if (bytes <= usable) return {};
  return Status(
      Code::no_memory,
      fmt::format("{:.1f} MiB are asked for and {:.1f} MiB can be given: {} leaves {:.1f} MiB, of which "
                  "{:.1f} MiB stay in reserve; ask for less, or use more nodes",
                  in_mib(bytes), in_mib(usable), limit.source, in_mib(limit.available_bytes), in_mib(reserve)));
}

Status check_memory_available(std::size_t bytes) { return check_memory_limit(bytes, tightest_memory_limit()); }

Result<Mapping> Mapping::create(const Descriptor& file, std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (address == MAP_FAILED) return system_error("mapping shared memory (mmap)", errno);
  Mapping mapping;
  mapping.address_ = address;
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

}  // namespace grapnel::os
