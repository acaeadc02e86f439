// Long data from rank to rank in a collective: by puts into memory that the receiver names, piece by piece. No inbox
// and no acknowledgement; the sender copies nothing, the receiver takes each piece from where it was put.
//
//   sender                                              receiver
//   announcement (letter): call, length            ───▶ compares
//   compares                                       ◀─── room (letter): call, length; a piece's address and length
//   put, straight from the caller's memory         ───▶ its staging area, a segment of its own
//   letter of the piece, behind the put            ───▶ takes the piece, names the next room
//
// A receiver names rooms for two pieces at the start, so that one is on its way while it takes another. Announcements
// and first rooms wait for nothing. So no ring of waits arises where each rank opens what it sends and what it receives
// before it waits for any of it: a sender waits for a receiver that has not come to the same step, and for no other.
//
// Invariants:
//  1. A room belongs to one piece from the letter that names it until the piece was taken. Between two calls no room is
//     in use.
//  2. Of a message, two rooms at most are named and not used, and two pieces at most have come and are not taken: the
//     letters of odd and of even pieces have different names.
//
// Cost: of a message, its announcement, and for each piece 2 letters and ⌈piece/GRAPNEL_CHUNK_BYTES⌉ puts. Memory: of a
// receiver 512 KiB from its first long message on; more where it receives several messages at a time (`whole`).
// Threads: of one rank one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "collective/own_segments.hpp"
#include "collective/speakers.hpp"
#include "core/core.hpp"
#include "exchange/letters.hpp"
#include "grapnel/status.hpp"
#include "rma/rma.hpp"

namespace grapnel::collective {

/// One message on its way out.
struct LongOutgoing {
  Rank to{};
  std::uint32_t step = 0;
  std::vector<ByteView> content;           ///< one run after the other; untouched until all is sent
  const std::size_t* available = nullptr;  ///< so much of it is there, which grows while messages come; null: all

  std::size_t bytes = 0, sent = 0;     ///< set by `open`
  std::uint64_t pieces = 0;            ///< sent
  std::optional<Bytes> room_letter{};  ///< of the next piece

  bool is_over() const { return sent == bytes; }
  bool has_more() const { return sent < (available != nullptr ? *available : bytes); }
  bool can_go_on() const { return has_more() && room_letter; }
};

/// One message that comes.
struct LongIncoming {
  Rank from{};
  std::uint32_t step = 0;
  std::size_t bytes = 0;  ///< not 0
  bool whole = false;     ///< in one piece, whose memory stays as it is until the next `open`
  /// Each piece, and where it begins in the message. The piece may be changed.
  std::function<void(std::size_t, ByteSpan)> take;

  std::byte* room = nullptr;            ///< set by `open`, as the rest
  std::size_t named = 0, taken = 0;     ///< bytes
  std::uint64_t rooms = 0, pieces = 0;  ///< named; taken
  bool announced = false;
  std::optional<Bytes> letter{};  ///< the announcement, then that of the next piece

  std::size_t piece_bytes() const;
  bool is_over() const { return taken == bytes; }
};

class LongData {
 public:
  static constexpr std::size_t kPieceBytes = 256 * base::kKiB;

  LongData(core::Core& core, rma::Rma& rma, std::uint64_t long_bytes);

  /// Whether a message of that length goes this way. The same in all ranks.
  bool is_long(std::size_t bytes) const { return bytes >= long_bytes_; }

  /// Names the first rooms and announces. What was opened before is over. The job ends where the other one's call or
  /// length differs, here or in `carry`. Errors: peer_dead; no_memory (for the rooms: the others wait for this rank).
  Status open(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in);
  /// Returns when those messages, which were opened, have left and were taken. Errors: peer_dead.
  Status carry(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in);
  Status exchange(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in) {
    GRAPNEL_TRY(open(all, out, in));
    return carry(all, out, in);
  }

  /// Messages of the puts to other nodes; the letters are counted by `Letters`.
  std::uint64_t put_messages() const { return put_messages_; }

 private:
  /// For the letters by which a message goes on: whether there is one.
  bool look(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in);
  Status advance(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in);
  Status assign_rooms(std::span<LongIncoming> in);
  Status name_room(const Speakers& all, LongIncoming& one);
  void look_for_letter(const Speakers& all, LongOutgoing& one);
  void look_for_letter(const Speakers& all, LongIncoming& one);
  Status send_piece(const Speakers& all, LongOutgoing& one);
  Status put(Rank to, ByteView run, std::byte* place);
  Status take_letter(const Speakers& all, LongIncoming& one);

  launch::Launch& launch_;
  exchange::Letters& letters_;
  OwnSegments segments_;
  rma::Rma& rma_;
  const std::uint64_t long_bytes_;
  std::byte* staging_ = nullptr;  ///< a segment of this rank's own
  std::size_t staging_bytes_ = 0;
  std::uint64_t put_messages_ = 0;
};

}  // namespace grapnel::collective
