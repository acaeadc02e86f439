// SPDX-License-Identifier: Apache-2.0
#include "os/address_pool.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/check.hpp"
#include "base/units.hpp"
#include "os/identity.hpp"
#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

// The thread sanitizer replaces an address that it does not like by 0, which MAP_FIXED_NOREPLACE takes at its word and
// the sanitizer then dies of. As a mere hint the address is kept where it is free, and the result is checked anyway.
#if defined(__SANITIZE_THREAD__)
#define GRAPNEL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GRAPNEL_THREAD_SANITIZER 1
#endif
#endif
#ifdef GRAPNEL_THREAD_SANITIZER
constexpr int kExactlyThere = 0;
#else
constexpr int kExactlyThere = MAP_FIXED_NOREPLACE;
#endif

constexpr int kReservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Core dumps would otherwise try the whole range. Advice: a kernel that does not take it changes nothing for us.
void leave_out_of_dumps(std::uintptr_t address, std::size_t bytes) { ::madvise(at(address), bytes, MADV_DONTDUMP); }

}  // namespace

std::span<const std::uintptr_t> AddressPool::candidate_bases() {
  // The first is the start of what the thread sanitizer calls "high app memory", below every library and stack.
  static constexpr std::array<std::uintptr_t, 4> kBases = {0x7e8000000000, 0x600000000000, 0x500000000000,
                                                           0x200000000000};
  return kBases;
}

std::uintptr_t AddressPool::random_shift() {
  return random_u64() % (kShiftBytes / kPoolGranuleBytes) * kPoolGranuleBytes;
}

Result<std::unique_ptr<AddressPool>> AddressPool::reserve(std::uintptr_t base, std::size_t bytes) {
  bytes = base::round_up(bytes, kPoolGranuleBytes);
  const int fixed = base == 0 ? 0 : kExactlyThere;
  void* got = ::mmap(at(base), bytes, PROT_NONE, kReservation | fixed, -1, 0);
  if (got == MAP_FAILED) {
    const int error = errno;
    return Status(Code::unavailable, fmt::format("{} bytes of addresses at {:#x} cannot be set aside: {}", bytes, base,
                                                 std::strerror(error)));
  }
  const auto found = reinterpret_cast<std::uintptr_t>(got);
  // Kernels before 4.17 take it for a mere hint.
  if (base != 0 && found != base) {
    ::munmap(got, bytes);
    return Status(Code::unavailable, fmt::format("{} bytes of addresses at {:#x} are in use", bytes, base));
  }
  leave_out_of_dumps(found, bytes);
  return std::unique_ptr<AddressPool>(new AddressPool(found, bytes));
}

AddressPool::~AddressPool() { ::munmap(at(base_), bytes_); }

Status AddressPool::check_range(std::uintptr_t address, std::size_t bytes) const {
  const std::uintptr_t offset = address - base_;
  if (offset % kPoolGranuleBytes == 0 && bytes > 0 && offset < bytes_ && bytes <= bytes_ - offset) return {};
  return Status(Code::invalid_argument,
                fmt::format("[{:#x}, +{:#x}) is no range of granules of the pool at {:#x}", address, bytes, base_));
}

bool AddressPool::overlaps(std::uintptr_t address, std::size_t bytes) const {
  const auto next = mapped_.lower_bound(address);
  if (next != mapped_.end() && next->first < address + bytes) return true;
  if (next == mapped_.begin()) return false;
  const auto& [begin, before] = *std::prev(next);
  return begin + before.bytes > address;
}

Status AddressPool::map(const Descriptor& file, std::uintptr_t address, std::size_t bytes) {
  GRAPNEL_TRY(check_range(address, bytes));
  struct stat properties {};
  if (::fstat(file.number(), &properties) != 0) return internal::system_error("looking at shared memory", errno);
  const base::MutexLock lock(mutex_);
  if (const auto found = mapped_.find(address); found != mapped_.end()) {
    if (found->second.bytes == bytes && found->second.file == properties.st_ino) {
      ++found->second.users;
      return {};
    }
  }
  if (overlaps(address, bytes)) {
    return Status(Code::invalid_argument,
                  fmt::format("another segment is mapped within [{:#x}, +{:#x})", address, bytes));
  }
  if (::mmap(at(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.number(), 0) == MAP_FAILED) {
    if (errno == ENOMEM) {
      return Status(Code::no_memory,
                    fmt::format("the kernel maps nothing more ({} segments are mapped); sysctl vm.max_map_count or the "
                                "limit of address space is in the way",
                                mapped_.size()));
    }
    return internal::system_error("mapping a segment (mmap)", errno);
  }
  // A child of the program must not keep the memory alive, nor see pages change under a network card that pinned them.
  ::madvise(at(address), bytes, MADV_DONTFORK);
  leave_out_of_dumps(address, bytes);
  mapped_.emplace(address, Mapped{bytes, properties.st_ino, 1});
  return {};
}

void AddressPool::unmap(std::uintptr_t address) {
  const base::MutexLock lock(mutex_);
  const auto found = mapped_.find(address);
  GRAPNEL_CHECK(found != mapped_.end(), "nothing is mapped at {:#x}", address);
  if (--found->second.users > 0) return;
  const std::size_t bytes = found->second.bytes;
  // One call that replaces: were the range free for a moment, someone else's mapping could land in it.
  void* got = ::mmap(at(address), bytes, PROT_NONE, kReservation | MAP_FIXED, -1, 0);
  GRAPNEL_CHECK(got == at(address), "{:#x}+{:#x} cannot be set aside again: {}", address, bytes, std::strerror(errno));
  leave_out_of_dumps(address, bytes);
  mapped_.erase(found);
}

}  // namespace grapnel::os
