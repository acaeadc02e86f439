// A piece of memory that one process fills and others only read: they get its descriptor and map it.
//
// The file is sealed: its bytes and its length stay as they are, so a reader may look at it as at a constant of its
// own.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"

namespace grapnel::os {

/// `content` as a sealed file; at least one byte. Errors: system.
Result<Descriptor> create_sealed_file(const char* label, ByteView content);

/// A sealed file, mapped for reading.
class SealedView {
 public:
  /// Errors: refused (`file` is not sealed, or has not `bytes` bytes), system.
  static Result<SealedView> map(const Descriptor& file, std::size_t bytes);
  SealedView(SealedView&& other) noexcept;
  SealedView& operator=(SealedView&& other) noexcept;
  ~SealedView();

  ByteView bytes() const { return {static_cast<const std::byte*>(address_), bytes_}; }

 private:
  SealedView(void* address, std::size_t bytes) : address_(address), bytes_(bytes) {}

  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace grapnel::os
