// What travels on a connection: frames. Each is a head of 16 bytes, a header and a payload, both filled up with zeros
// to multiples of 8 bytes, so that in a receive buffer every part is aligned.
//
//   kind          header          number   length                       payload
//   hello         HelloBody       0        0                            –
//   message       the message's   0        of the payload               the message's
//   announcement  the message's   bulk     of the bulk payload          –
//   request       –               bulk     0                            –        (receiver → sender: send it)
//   decline       –               bulk     0                            –        (receiver → sender: not wanted)
//   chunk         –               bulk     of this piece                the next piece of the bulk payload
//
// Bulk messages of one direction of one connection are numbered from 1. A hello is the first frame that the connecting
// side sends, and no other frame is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace grapnel::transport::local {

enum class FrameKind : std::uint8_t { hello = 1, message, announcement, request, decline, chunk };

struct FrameHead {
  FrameKind kind{};
  std::uint8_t zero = 0;
  std::uint16_t header_bytes = 0;
  std::uint32_t number = 0;
  std::uint32_t length = 0;
  std::uint32_t zero_too = 0;
};
static_assert(sizeof(FrameHead) == 16);

struct HelloBody {
  std::uint64_t magic = 0x6772'6170'6e65'6c33;  // "grapnel3"
  std::uint64_t secret = 0;                     ///< the job's
};

/// One chunk at most: what a message may have to wait for behind a bulk payload.
inline constexpr std::size_t kMaxChunkBytes = 256 * 1024;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
inline constexpr std::size_t kMaxFrontBytes = sizeof(FrameHead) + padded(kMaxHeaderBytes);
inline constexpr std::size_t kHelloBytes = sizeof(FrameHead) + padded(sizeof(HelloBody));

/// Bytes of the payload that follow the header in the same frame.
constexpr std::size_t payload_bytes(const FrameHead& head) {
  return head.kind == FrameKind::message || head.kind == FrameKind::chunk ? head.length : 0;
}
constexpr std::size_t frame_bytes(const FrameHead& head) {
  return sizeof head + padded(head.header_bytes) + padded(payload_bytes(head));
}

/// What is wrong with a head by itself; null: nothing.
inline const char* fault_of(const FrameHead& head) {
  if (head.zero != 0 || head.zero_too != 0) return "a head with bytes set that must be zero";
  switch (head.kind) {
    case FrameKind::hello: return "a second hello";
    case FrameKind::message:
      if (head.header_bytes > kMaxHeaderBytes) return "a message with too long a header";
      if (head.length > kMaxWholeBytes) return "a message with too long a payload";
      return head.number == 0 ? nullptr : "a message with a number";
    case FrameKind::announcement:
      if (head.header_bytes > kMaxHeaderBytes) return "an announcement with too long a header";
      if (head.length <= kMaxPayloadBytes || head.length > kMaxBulkBytes) return "an announcement of a wrong length";
      return nullptr;
    case FrameKind::request:
    case FrameKind::decline:
      return head.header_bytes == 0 && head.length == 0 ? nullptr : "a request or decline of a wrong length";
    case FrameKind::chunk:
      return head.header_bytes == 0 && head.length > 0 && head.length <= kMaxChunkBytes ? nullptr
                                                                                        : "a chunk of a wrong length";
  }
  return "a frame of an unknown kind";
}

}  // namespace grapnel::transport::local
