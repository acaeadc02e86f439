// What the members of a group call together: compared where their data meets, so that a program whose ranks disagree
// ends with a text that names both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "grapnel/reduction.hpp"
#include "grapnel/types.hpp"
#include "launch/launch.hpp"

namespace grapnel::collective {

enum class CallKind : std::uint32_t { none, broadcast, reduce, allreduce, allgather, alltoall };

/// As it lies in node memory and travels between nodes.
struct Call {
  CallKind kind = CallKind::none;
  std::uint32_t reduction = 0;  ///< a number made of its name and element; 0: none
  std::uint64_t amount = 0;     ///< elements, or bytes
  std::int32_t root = -1;       ///< rank; -1: none
  std::uint16_t started = 0;    ///< 1: in two steps
  std::uint16_t announces = 0;  ///< 1: in a letter of data that goes by another way (long_data.hpp, started_call.hpp)

  bool operator==(const Call&) const = default;
};
static_assert(std::has_unique_object_representations_v<Call>, "it is sent: no byte is left unwritten");

const char* name_of(CallKind kind);

/// "broadcast of 8 bytes from rank 3".
std::string to_string(const Call& call);

// Sequences of letters: GroupExchange has the same groups, and counts from 0. Long data has more letters of the same
// step (long_data.hpp), of which one after the other may wait for its receiver: those of odd pieces are named apart.
inline constexpr std::uint64_t kCollectiveSequences = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kRoomLetters = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kPieceLetters = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kOddPieces = std::uint64_t{1} << 60;
// Of started calls: a message that its sender showed was copied (started_call.hpp).
inline constexpr std::uint64_t kTakenLetters = std::uint64_t{1} << 59;

/// Ends the job: rank `from` made another call (nothing: what it sent names none), or two differ in a length.
[[noreturn]] void abort_of_calls(launch::Launch& launch, const Call& mine, Rank from,
                                 const std::optional<Call>& theirs);
[[noreturn]] void abort_of_lengths(launch::Launch& launch, const Call& call, Rank sender, std::size_t sent_bytes,
                                   Rank receiver, std::size_t wanted_bytes);

/// FNV-1a of name and element size; never 0.
std::uint32_t number_of(const Reduction& reduction);

}  // namespace grapnel::collective
