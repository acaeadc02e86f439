// SPDX-License-Identifier: Apache-2.0
#include "collective/long_data.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/check.hpp"
#include "base/codec.hpp"

namespace grapnel::collective {
namespace {

/// A letter of this part: what the sender's call is, or where a piece may be put.
struct LongLetter {
  Call call;  ///< `announces`
  std::uint64_t total_bytes = 0;
  std::uint64_t address = 0, bytes = 0;  ///< of a room
};
static_assert(std::has_unique_object_representations_v<LongLetter>, "it is sent: no byte is left unwritten");

Call announced(Call call) {
  call.announces = 1;
  return call;
}

exchange::Subject subject_of(const Speakers& all, std::uint64_t kind, std::uint64_t piece, std::uint32_t step) {
  return {all.group, all.sequence | kCollectiveSequences | kind | (piece % 2 == 1 ? kOddPieces : 0), step};
}

}  // namespace

std::size_t LongIncoming::piece_bytes() const { return whole ? bytes : std::min(bytes, LongData::kPieceBytes); }

LongData::LongData(core::Core& core, rma::Rma& rma, std::uint64_t long_bytes)
    : launch_(core.launch), letters_(core.letters), segments_(core), rma_(rma), long_bytes_(long_bytes) {}

Status LongData::assign_rooms(std::span<LongIncoming> in) {
  constexpr std::size_t kAlignment = 64;
  const auto room_of = [](const LongIncoming& one) {
    const std::size_t pieces = one.whole ? 1 : 2;
    return (pieces * one.piece_bytes() + kAlignment - 1) / kAlignment * kAlignment;
  };
  std::size_t bytes = 0;
  for (const LongIncoming& one : in) {
    GRAPNEL_ASSERT(one.bytes > 0 && one.rooms == 0, "a message of {} bytes, {} rooms named", one.bytes, one.rooms);
    bytes += room_of(one);
  }
  if (bytes > staging_bytes_) {
    if (staging_ != nullptr) GRAPNEL_TRY(segments_.free(staging_));
    staging_ = nullptr;
    staging_bytes_ = 0;
    const std::size_t enough = std::bit_ceil(std::max(bytes, 2 * kPieceBytes));
    GRAPNEL_ASSIGN_OR_RETURN(staging_, segments_.allocate(enough));
    staging_bytes_ = enough;
  }
  std::byte* at = staging_;
  for (LongIncoming& one : in) {
    one.room = at;
    at += room_of(one);
  }
  return {};
}

Status LongData::open(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in) {
  GRAPNEL_TRY(assign_rooms(in));
  for (LongIncoming& one : in) {
    GRAPNEL_TRY(name_room(all, one));
    GRAPNEL_TRY(name_room(all, one));
  }
  for (LongOutgoing& one : out) {
    for (const ByteView run : one.content) one.bytes += run.size();
    const LongLetter letter{announced(all.call), one.bytes};
    GRAPNEL_TRY(letters_.send(one.to, subject_of(all, 0, 0, one.step), base::bytes_of(letter)));
  }
  return {};
}

bool LongData::look(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in) {
  bool any = false;
  for (LongIncoming& one : in) {
    if (!one.is_over() && !one.letter) look_for_letter(all, one);
    any = any || one.letter;
  }
  for (LongOutgoing& one : out) {
    if (one.has_more() && !one.room_letter) look_for_letter(all, one);
    any = any || one.can_go_on();
  }
  return any;
}

Status LongData::advance(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in) {
  for (LongIncoming& one : in) {
    if (one.letter) GRAPNEL_TRY(take_letter(all, one));
  }
  for (LongOutgoing& one : out) {
    if (one.can_go_on()) GRAPNEL_TRY(send_piece(all, one));
  }
  return {};
}

Status LongData::carry(const Speakers& all, std::span<LongOutgoing> out, std::span<LongIncoming> in) {
  for (;;) {
    while (look(all, out, in)) GRAPNEL_TRY(advance(all, out, in));
    std::optional<Rank> awaited;
    bool any_local = false;
    const auto note = [&](const auto& one, Rank other) {
      if (one.is_over()) return;
      any_local = any_local || letters_.is_local(other);
      if (!awaited) awaited = other;
    };
    for (const LongIncoming& one : in) note(one, one.from);
    for (const LongOutgoing& one : out) note(one, one.to);
    if (!awaited) return {};
    GRAPNEL_TRY(letters_.wait(!any_local, [&] { return look(all, out, in); },
                              {progress::WaitKind::message, name_of(all.call.kind), {index(*awaited)}}));
  }
}

// ---- the receiver ----

Status LongData::name_room(const Speakers& all, LongIncoming& one) {
  if (one.named == one.bytes) return {};
  GRAPNEL_ASSERT(one.rooms - one.pieces < 2, "a third room at once: {} named, {} pieces taken", one.rooms, one.pieces);
  const std::size_t most = one.piece_bytes(), bytes = std::min(most, one.bytes - one.named);
  std::byte* const place = one.room + one.rooms % 2 * most;
  const LongLetter letter{announced(all.call), one.bytes, reinterpret_cast<std::uint64_t>(place), bytes};
  GRAPNEL_TRY(letters_.send(one.from, subject_of(all, kRoomLetters, one.rooms, one.step), base::bytes_of(letter)));
  one.named += bytes;
  ++one.rooms;
  return {};
}

void LongData::look_for_letter(const Speakers& all, LongIncoming& one) {
  const std::uint64_t kind = one.announced ? kPieceLetters : 0;
  one.letter = letters_.try_receive(one.from, subject_of(all, kind, one.announced ? one.pieces : 0, one.step));
}

Status LongData::take_letter(const Speakers& all, LongIncoming& one) {
  const Bytes letter = *std::exchange(one.letter, {});
  if (!one.announced) {
    // Where it announces nothing, it is a short message, of the length that follows its call.
    base::Decoder in(letter);
    auto theirs = in.get<Call>();
    const bool is_long = theirs && theirs->announces == 1;
    if (theirs) theirs->announces = 0;
    if (!theirs || *theirs != all.call) abort_of_calls(launch_, all.call, one.from, theirs);
    const std::size_t sent = is_long ? in.get<std::uint64_t>().value_or(0) : in.rest().size();
    if (!is_long || sent != one.bytes) {
      abort_of_lengths(launch_, all.call, one.from, sent, launch_.rank(), one.bytes);
    }
    one.announced = true;
    return {};
  }
  GRAPNEL_ASSERT(one.pieces < one.rooms, "piece {} has no room, {} are named", one.pieces, one.rooms);
  const std::size_t most = one.piece_bytes(), bytes = std::min(most, one.bytes - one.taken);
  one.take(one.taken, {one.room + one.pieces % 2 * most, bytes});
  one.taken += bytes;
  ++one.pieces;
  return name_room(all, one);
}

// ---- the sender ----

void LongData::look_for_letter(const Speakers& all, LongOutgoing& one) {
  one.room_letter = letters_.try_receive(one.to, subject_of(all, kRoomLetters, one.pieces, one.step));
}

Status LongData::send_piece(const Speakers& all, LongOutgoing& one) {
  base::Decoder in(*one.room_letter);
  const auto room = in.get<LongLetter>();
  auto theirs = room ? std::optional(room->call) : std::nullopt;
  if (theirs) theirs->announces = 0;
  if (!theirs || *theirs != all.call) abort_of_calls(launch_, all.call, one.to, theirs);
  if (room->total_bytes != one.bytes || room->bytes > one.bytes - one.sent) {
    abort_of_lengths(launch_, all.call, launch_.rank(), one.bytes, one.to, room->total_bytes);
  }
  const std::size_t end = one.sent + room->bytes;
  GRAPNEL_ASSERT(one.available == nullptr || *one.available >= end, "a piece ends at {}, {} bytes have come", end,
                 *one.available);
  auto* place = reinterpret_cast<std::byte*>(room->address);
  std::size_t begin = 0;
  for (const ByteView run : one.content) {
    const std::size_t from = std::max(begin, one.sent), to = std::min(begin + run.size(), end);
    if (from < to) GRAPNEL_TRY(put(one.to, run.subspan(from - begin, to - from), place + (from - one.sent)));
    begin += run.size();
  }
  one.room_letter.reset();
  one.sent = end;
  return letters_.send(one.to, subject_of(all, kPieceLetters, one.pieces++, one.step), {});
}

Status LongData::put(Rank to, ByteView run, std::byte* place) {
  Bytes copy;  // of what lies in the shared heap: a fault there needs the client, which a put holds
  if (rma_.keeps_out(run.data(), run.size())) {
    copy.assign(run.begin(), run.end());
    run = copy;
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto messages, rma_.put_to_named(run, place, to, [this] { letters_.collect(); }));
  put_messages_ += messages;
  return {};
}

}  // namespace grapnel::collective
