// Walks over pieces and cuts off what one message takes: a chunk of data, with its runs beside it.
//
// A piece has `remote` and `bytes`. The writer of the runs is the path's, so that its memory is used again; its content
// is valid until the next wait, which lets other threads in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "base/check.hpp"
#include "rma/internal/runs.hpp"
#include "rma/messages.hpp"
#include "rma/stripes.hpp"

namespace grapnel::rma {

/// How many stripes the runs of a message lie in, counted run by run by its sender and by the server: a stripe that is
/// left and reached again counts again.
class StripeCount {
 public:
  void add(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t first = address / Stripes::kStripeBytes, last = (address + bytes - 1) / Stripes::kStripeBytes;
    count_ += last - first + (count_ > 0 && first == last_ ? 0 : 1);
    last_ = last;
  }
  std::uint64_t count() const { return count_; }
  /// Bytes from `address` on that keep the count within `most`.
  std::uint64_t room(std::uint64_t address, std::uint64_t most) const {
    GRAPNEL_ASSERT(count_ <= most, "{} stripes, of {}", count_, most);
    const std::uint64_t first = address / Stripes::kStripeBytes;
    const std::uint64_t left = most - count_ + (count_ > 0 && first == last_ ? 1 : 0);
    return left == 0 ? 0 : (first + left) * Stripes::kStripeBytes - address;
  }

 private:
  std::uint64_t count_ = 0, last_ = 0;
};

/// `kMostStripes`: of a message; 0: any number.
template <typename OnePiece, std::size_t kMostStripes = 0>
class PieceCursor {
 public:
  PieceCursor(RunWriter& runs, std::size_t chunk_bytes, std::size_t message_bytes, std::span<const OnePiece> pieces,
              std::size_t element_bytes)
      : pieces_(pieces),
        chunk_bytes_(chunk_bytes),
        message_bytes_(message_bytes),
        element_bytes_(element_bytes),
        runs_(runs) {
    for (const OnePiece& piece : pieces) left_bytes_ += piece.bytes;
    skip_empty();
  }

  /// Whether the last message was cut off.
  bool at_end() const { return at_ == pieces_.size(); }
  /// Data of the next message at most.
  std::size_t most_bytes() const { return std::min(left_bytes_, chunk_bytes_); }

  /// Cuts off the next message: visit(piece, offset, bytes) for each part of a piece in it, in order.
  template <typename Visit>
  void next(const Visit& visit) {
    base_ = address_of(pieces_[at_]);
    data_bytes_ = 0;
    runs_.start(base_);
    stripes_ = {};
    for (std::size_t bytes = fitting(); bytes > 0; bytes = fitting()) {
      const OnePiece& piece = pieces_[at_];
      const std::uint64_t address = address_of(piece);
      visit(piece, offset_, bytes);
      runs_.add({address, bytes});
      if constexpr (kMostStripes > 0) stripes_.add(address, bytes);
      take(bytes);
    }
    GRAPNEL_ASSERT(data_bytes_ > 0, "a message without data; {} bytes are left", left_bytes_);
    left_bytes_ -= data_bytes_;
  }
  /// What the first run's gap is counted from.
  std::uint64_t base() const { return base_; }
  ByteView runs() const { return runs_.view(); }
  std::size_t data_bytes() const { return data_bytes_; }

 private:
  std::uint64_t address_of(const OnePiece& piece) const {
    return reinterpret_cast<std::uint64_t>(piece.remote) + offset_;
  }

  // Of the present piece; 0 where the message is full, or there is none.
  std::size_t fitting() const {
    if (at_end() || !runs_.reaches(address_of(pieces_[at_]))) return 0;
    // Not less than nothing: a run is taken only where the longest one and an element had room.
    const std::size_t room = message_bytes_ - data_bytes_ - runs_.view().size();
    if (room < RunWriter::kMostBytes + element_bytes_) return 0;
    std::size_t most = std::min(chunk_bytes_ - data_bytes_, room - RunWriter::kMostBytes);
    if constexpr (kMostStripes > 0) most = std::min(most, stripes_.room(address_of(pieces_[at_]), kMostStripes));
    return std::min(pieces_[at_].bytes - offset_, most & ~(element_bytes_ - 1));  // elements are powers of two
  }

  void take(std::size_t bytes) {
    data_bytes_ += bytes;
    offset_ += bytes;
    if (offset_ < pieces_[at_].bytes) return;
    ++at_;
    offset_ = 0;
    skip_empty();
  }

  void skip_empty() {
    while (at_ < pieces_.size() && pieces_[at_].bytes == 0) ++at_;
  }

  const std::span<const OnePiece> pieces_;
  const std::size_t chunk_bytes_, message_bytes_, element_bytes_;
  std::size_t left_bytes_ = 0;
  std::size_t at_ = 0, offset_ = 0;
  std::uint64_t base_ = 0;
  std::size_t data_bytes_ = 0;
  StripeCount stripes_;
  RunWriter& runs_;
};

}  // namespace grapnel::rma
