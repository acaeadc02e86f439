// One connection of a worker: to a peer that it connected to, or from one that connected to it.
//
// Threads: the owning worker's.
// Invariants: (1) a connection object lives as long as its worker and never moves, also when the peer has died: it is
// the handle of a ReplyPath; its socket and its buffers go when it ends. (2) Frames leave in the order of `frames`;
// where that is empty, what is sent is written into the socket at once. (3) At most one chunk is in `frames`, so a
// message waits for one chunk at most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "os/descriptor.hpp"
#include "transport/local/local_arrival.hpp"
#include "transport/local/local_frame.hpp"

namespace grapnel::transport::local {

/// The failure of a connection whose socket has ended: `why` in the system's words.
inline Status peer_gone(const std::string& why) {
  return Status(Code::peer_dead, "the connection to a peer is gone: " + why);
}

/// A frame that the socket has not taken, or not all of it.
struct OutgoingFrame {
  std::array<std::byte, kMaxFrontBytes> front;  ///< head, header, and the zeros after it
  std::uint32_t front_bytes = 0;
  FrameKind kind{};
  std::uint32_t number = 0;
  ByteView payload;
  Completion completion;

  std::size_t bytes() const { return front_bytes + padded(payload.size()); }
};

/// A bulk message whose payload has not left.
struct OutgoingBulk {
  std::uint32_t number = 0;
  bool requested = false;
  std::size_t sent = 0;
  ByteView payload;
  Completion completion;
};

struct Flush {
  std::uint64_t frames = 0;       ///< these must have left
  std::uint32_t bulk_number = 0;  ///< and bulk messages up to this
  Completion completion;
};

/// What has come of a frame, between two reads.
struct Incoming {
  Bytes partial;               ///< a frame, not of the kind chunk, that is not whole
  std::size_t received = 0;    ///< bytes in `partial`; 0: no frame is begun
  Arrival* landing = nullptr;  ///< the chunk that is coming belongs to this
  std::size_t chunk_left = 0;  ///< bytes of it
  std::size_t zeros_left = 0;  ///< and of the zeros behind it
};

struct Connection {
  std::uint32_t index = 0;
  os::Descriptor socket;
  std::optional<EndpointId> id;  ///< none: the peer connected to us
  std::string peer_name;         ///< of the listener that is being connected to
  bool connecting = false;       ///< its queue was full: tried again until `connect_until_ns`
  std::uint64_t connect_until_ns = 0;
  bool ending = false;      ///< in the worker's list of connections that end
  bool wants_room = false;  ///< epoll reports when the socket takes bytes again
  Status failure;           ///< ok while it works

  std::deque<OutgoingFrame> frames;
  std::size_t front_sent = 0;  ///< bytes of frames.front() that the socket has taken
  std::uint64_t frames_queued = 0, frames_left = 0;
  std::deque<OutgoingBulk> bulk;  ///< by number, ascending
  std::deque<std::uint32_t> requested;
  std::uint32_t last_bulk_number = 0;
  std::vector<Flush> flushes;

  Incoming incoming;
  std::uint32_t last_announced = 0;
  std::unordered_map<std::uint32_t, Arrival*> arrivals;  ///< offered or landing, by number

  bool has_left() const { return frames.empty() && bulk.empty(); }
};

}  // namespace grapnel::transport::local
