// The header of every message between a client (a rank's origin side) and a node's server.
//
//   request := RequestHeader body payload         client → server
//   reply   := ReplyHeader body payload           server → client
//
// A server that sends to another server's handlers sends a request, too; its origin is job size + its node.
//
// `body` is the handler's own structure, `payload` its data; both lengths are in the header and are checked against
// what arrived before a handler sees them. Counts are cumulative and never go back, so a later reply makes an earlier
// one redundant and waiting compares with ≥.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "grapnel/types.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

/// Handlers are named by small numbers. Those of the layers up to sync are constants in each layer's messages.hpp,
/// below kFirstServiceHandler; services that come later get theirs when they are opened, in the order of services
/// (core/service.hpp), so all ranks of a build have the same ones.
using HandlerId = std::uint16_t;
inline constexpr HandlerId kFirstServiceHandler = 65;
inline constexpr HandlerId kHandlerLimit = 256;

/// Answers with the counts and nothing else: what a fence asks. The server registers it itself.
inline constexpr HandlerId kCountsHandler = 0;

/// Wakes the server, which looks at what its node's ranks left for it (doorbell.hpp). The server registers it itself.
inline constexpr HandlerId kBellHandler = 62;
/// A server's acknowledgement to another server (server_links.hpp). The server registers it itself.
inline constexpr HandlerId kServerCountsHandler = 63;
/// A server's sign of life to another server (heartbeat.hpp). The server registers it itself. Like the one before it
/// takes no credit, and it is in no count of messages.
inline constexpr HandlerId kHeartbeatHandler = 64;

/// Both headers have two independent lengths, so that a truncated or padded message is noticed; a request also has its
/// charge.
struct RequestHeader {
  std::uint64_t secret = 0;  ///< the job's; a message without it is dropped
  HandlerId handler = 0;
  std::uint16_t body_bytes = 0;
  std::int32_t origin = 0;  ///< rank of the sender; or, from a server, job size + its node
  std::uint32_t payload_bytes = 0;
  std::uint32_t charge = 0;  ///< window bytes that this request takes until it is handled
  std::uint64_t token = 0;   ///< the client's name for whom the reply is; 0: no reply wanted
  std::uint32_t flags = 0;   ///< kCountedWrite
  std::uint32_t unused = 0;
};

/// A write that barriers rely on: the server counts it, per origin, when it has applied it (write_counts.hpp).
inline constexpr std::uint32_t kCountedWrite = 1;

enum class ReplyCode : std::uint16_t {
  answer,   ///< body and payload are the handler's answer
  refused,  ///< the request was declined; nothing was touched
  counts,   ///< nothing but the counts: the window moves on
};

struct ReplyHeader {
  std::uint64_t secret = 0;
  ReplyCode code = ReplyCode::counts;
  std::uint16_t body_bytes = 0;
  std::int32_t node = 0;  ///< of the server that replies
  std::uint32_t payload_bytes = 0;
  std::uint32_t refused = 0;  ///< requests without a reply of their own that this server refused so far
  std::uint64_t token = 0;
  std::uint64_t handled = 0;   ///< requests of this origin that are applied, cumulative
  std::uint64_t released = 0;  ///< their charges, cumulative
};

/// The most that a handler's own structure may take.
inline constexpr std::size_t kMaxBodyBytes = transport::kMaxHeaderBytes - sizeof(ReplyHeader);
static_assert(sizeof(RequestHeader) <= sizeof(ReplyHeader));
static_assert(std::has_unique_object_representations_v<RequestHeader> &&
                  std::has_unique_object_representations_v<ReplyHeader>,
              "they travel: no byte that nobody writes");

/// What every request takes from the window besides its data: bounds the number of small ones.
inline constexpr std::uint32_t kRequestCharge = 512;

/// The window bytes of a request with this much data, or with this much in its answer. Bulk data lies in no buffer of
/// the server, so it takes none.
constexpr std::uint32_t charge_of(std::size_t payload_bytes) {
  const bool bulk = payload_bytes > transport::kMaxPayloadBytes;
  return kRequestCharge + (bulk ? 0 : static_cast<std::uint32_t>(payload_bytes));
}
/// The same where the payload is delivered whole, however long it is.
constexpr std::uint32_t charge_of_whole(std::size_t payload_bytes) {
  return kRequestCharge + static_cast<std::uint32_t>(payload_bytes);
}

/// The longest payload that is delivered whole at a server with this window. A server gives charges back when half a
/// window less kRequestCharge is due, so one request takes no more than what is then left.
constexpr std::size_t most_whole_bytes(std::size_t window_bytes) {
  return std::min(transport::kMaxWholeBytes, window_bytes / 2);
}

}  // namespace grapnel::progress
