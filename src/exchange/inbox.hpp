// A rank's inbox in its node's memory: a bounded ring into which local ranks and the node's server put letters.
//
// Putting a letter never waits: it claims cells by moving `tail`, writes them, and marks the first one as committed.
// The owner takes committed letters in the order of their claims, clears the marks of their cells and moves `head`.
//
//   cells (64 bytes):   … | first cell: mark, envelope | letter … | letter | first cell … |
//                          head ─▶ owner takes                              ◀─ tail
//
// Invariants:
//  1. tail − head never exceeds the number of cells; both are monotone, in cells.
//  2. The mark of a cell outside [head, tail) is 0, and so is that of a cell inside which begins no committed letter.
//
// Threads: `put` from any; `take` by one thread of the owner at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "grapnel/types.hpp"
#include "os/host.hpp"

namespace grapnel::exchange {

/// The header of a letter; a message longer than a letter travels in several.
struct Envelope {
  std::uint64_t group = 0;     ///< the group's key
  std::uint64_t sequence = 0;  ///< which of the group's exchanges
  std::int32_t from = 0;       ///< rank
  std::uint32_t step = 0;      ///< of the exchange
  std::uint32_t total_bytes = 0;
  std::uint32_t offset = 0;  ///< of this letter in the message
  std::uint32_t bytes = 0;   ///< of this letter
  std::uint32_t unused = 0;
};
static_assert(std::has_unique_object_representations_v<Envelope>, "it travels: no byte that nobody writes");

inline constexpr std::size_t kLetterBytes = 4096;

struct Letter {
  Envelope envelope;
  Bytes content;
};

/// Plain memory that is all zero at start.
struct InboxWords {
  alignas(64) std::atomic<std::uint64_t> tail;
  alignas(64) std::atomic<std::uint64_t> head;
  alignas(64) os::Word arrivals;  ///< grows with every letter; its owner sleeps on it
  /// Grows when a letter was taken while a rank waited for room; it sleeps on it.
  alignas(64) os::Word departures;
  std::atomic<std::uint32_t> waiting_for_room;
};

struct alignas(64) InboxCell {
  os::Word mark;  ///< of a letter's first cell: its length in cells, once it is committed
  Envelope envelope;
};

class Inbox {
 public:
  Inbox(os::Host& host, InboxWords& words, std::span<InboxCell> cells) : host_(host), words_(words), cells_(cells) {}

  /// False, and nothing happened, when there is no room. At most kLetterBytes.
  bool put(const Envelope& envelope, ByteView content);
  /// The next letter, if one is committed.
  std::optional<Letter> take();

  InboxWords& words() { return words_; }

 private:
  InboxCell& cell(std::uint64_t number) { return cells_[number % cells_.size()]; }
  void write(std::uint64_t first_cell, ByteView content);
  void read(std::uint64_t first_cell, ByteSpan content);

  os::Host& host_;
  InboxWords& words_;
  std::span<InboxCell> cells_;
};

}  // namespace grapnel::exchange
