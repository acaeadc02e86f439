// Where the pieces of a vector message belong, written short.
//
//   run    := varint(zigzag(gap) · 2 + has_length) [varint(length)]
//   gap     = its address less the end of the run before it; of the first one, less the base that the message names
//   length  = in bytes, at least 1; left out where it is that of the run before
//
// Small pieces of one length that lie near each other take a byte or two each, the farthest ones kMostGapBytes.
//
// Threads: any, each its own. Invariants:
//  1. Runs whose first one starts at the base take less than 7 bytes for each byte of data: most is taken by runs of
//     one byte each, and of those only the first one has a length.
//  2. The reader takes nothing for granted: what is cut off, longer than needed or empty is refused, and what it does
//     read may be any address and any length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/varint.hpp"
#include "grapnel/types.hpp"

namespace grapnel::rma {

struct VectorRun {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

class RunWriter {
 public:
  /// A gap with its mark. Seven bytes hold 49 bits: gaps of 47 bits and a sign. A node's pool has less (base/config).
  static constexpr std::size_t kMostGapBytes = 7;
  /// Runs are no longer than a chunk, whose length takes 3 bytes.
  static constexpr std::size_t kMostBytes = kMostGapBytes + 3;

  /// Forgets all; the next run follows `base`.
  void start(std::uint64_t base) {
    end_ = base;
    length_ = 0;
    used_ = 0;
  }
  /// Whether the gap to it may be written.
  bool reaches(std::uint64_t address) const {
    constexpr std::int64_t kLimit = std::int64_t{1} << (7 * kMostGapBytes - 2);
    const auto gap = static_cast<std::int64_t>(address - end_);
    return gap >= -kLimit && gap < kLimit;
  }
  /// Of an address that it reaches; less than 2 MiB long, not empty.
  void add(const VectorRun& run) {
    // write_varint may write more than it uses: the length's last byte reaches this far.
    constexpr std::size_t kRoom = kMostGapBytes + base::kMostVarintBytes;
    if (buffer_.size() - used_ < kRoom) [[unlikely]]
      buffer_.resize(2 * buffer_.size() + 1024);
    std::byte* const from = buffer_.data() + used_;
    const bool has_length = run.bytes != length_;
    const std::uint64_t gap = base::zigzag(static_cast<std::int64_t>(run.address - end_));
    std::byte* to = base::write_varint(from, gap << 1 | (has_length ? 1 : 0));
    if (has_length) to = base::write_varint(to, run.bytes);
    used_ += static_cast<std::size_t>(to - from);
    length_ = run.bytes;
    end_ = run.address + run.bytes;
  }
  ByteView view() const { return {buffer_.data(), used_}; }

 private:
  Bytes buffer_;  ///< longer than what is written: bytes are appended without a look at the length each time
  std::size_t used_ = 0;
  std::uint64_t end_ = 0, length_ = 0;
};

class RunReader {
 public:
  RunReader(ByteView in, std::uint64_t base) : at_(in.data()), stop_(in.data() + in.size()), end_(base) {}

  bool at_end() const { return at_ == stop_; }
  /// False at the end, and where what follows is no run.
  bool next(VectorRun& run) {
    std::uint64_t token = 0;
    const std::size_t bytes = base::read_varint(at_, stop_, token);
    at_ += bytes;
    if ((token & 1) != 0) {
      const std::size_t taken = base::read_varint(at_, stop_, length_);
      if (taken == 0) return false;
      at_ += taken;
    }
    if (bytes == 0 || length_ == 0) return false;
    run = {end_ + static_cast<std::uint64_t>(base::unzigzag(token >> 1)), length_};
    end_ = run.address + run.bytes;
    return true;
  }

 private:
  const std::byte *at_, *stop_;
  std::uint64_t end_, length_ = 0;
};

}  // namespace grapnel::rma
