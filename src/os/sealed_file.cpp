// SPDX-License-Identifier: Apache-2.0
#include "os/sealed_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/internal/unix_socket.hpp"

namespace grapnel::os {
namespace {

using internal::system_error;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

Status write_whole(const Descriptor& file, ByteView content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.number(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("filling a sealed file", errno);
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<Descriptor> create_sealed_file(const char* label, ByteView content) {
  Descriptor file(::memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) return system_error("creating a sealed file (memfd_create)", errno);
  GRAPNEL_TRY(write_whole(file, content));
  if (::fcntl(file.number(), F_ADD_SEALS, kSeals) != 0) return system_error("sealing a file", errno);
  return file;
}

Result<SealedView> SealedView::map(const Descriptor& file, std::size_t bytes) {
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return Status(Code::refused, "a file that came is not sealed");
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return system_error("looking at a sealed file", errno);
  if (bytes == 0 || static_cast<std::size_t>(about.st_size) != bytes) {
    return Status(Code::refused, fmt::format("a sealed file has {} bytes, not {}", about.st_size, bytes));
  }
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
  if (address == MAP_FAILED) return system_error("mapping a sealed file (mmap)", errno);
  return SealedView(address, bytes);
}

SealedView::SealedView(SealedView&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SealedView& SealedView::operator=(SealedView&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SealedView::~SealedView() {
  if (address_ != nullptr) ::munmap(address_, bytes_);
}

}  // namespace grapnel::os
