// What a node knows of a reader_writer lock, in one word: its ranks inside, its waiters, what the home granted.
//
//   63       40 39 38 37 36 35 34 33 32 31          16 15           0
//   | phase    |aj|rc|ao|as| gr  |ww|wi|   waiting    |   readers   |
//
//   readers  inside         waiting  readers that wait for the next read phase     phase  read phases opened so far
//   wi       a writer is inside      ww  a writer waits (the first of this node's queue of writers)
//   gr       what the home granted to this node: nothing, shared, sole      rc  the shared grant is called back
//   as, ao   shared, sole access is asked for             aj  the home knows, or is sent, that `as` joins readers
//
// It changes by compare-and-swap of the whole (ReaderWriter::update). Threads: any; a view is a copy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace grapnel::locks {

struct ReaderWriterView {
  enum Grant : std::uint8_t { kNothing, kShared, kSole };

  std::uint16_t readers = 0, waiting = 0;
  bool writer = false, writer_waits = false;
  Grant grant = kNothing;
  bool asked_shared = false, asked_sole = false, recalled = false, asked_join = false;
  std::uint32_t phase = 0;  ///< 24 bits

  static ReaderWriterView unpack(std::uint64_t word) {
    ReaderWriterView v;
    v.readers = static_cast<std::uint16_t>(word);
    v.waiting = static_cast<std::uint16_t>(word >> 16);
    v.writer = (word >> 32 & 1) != 0;
    v.writer_waits = (word >> 33 & 1) != 0;
    v.grant = static_cast<Grant>(word >> 34 & 3);
    v.asked_shared = (word >> 36 & 1) != 0;
    v.asked_sole = (word >> 37 & 1) != 0;
    v.recalled = (word >> 38 & 1) != 0;
    v.asked_join = (word >> 39 & 1) != 0;
    v.phase = static_cast<std::uint32_t>(word >> 40);
    return v;
  }
  std::uint64_t pack() const {
    const auto bit = [](bool value, int place) { return std::uint64_t{value} << place; };
    return readers | std::uint64_t{waiting} << 16 | bit(writer, 32) | bit(writer_waits, 33) |
           std::uint64_t{grant} << 34 | bit(asked_shared, 36) | bit(asked_sole, 37) | bit(recalled, 38) |
           std::uint64_t{phase} << 40;
  }
  /// Added to a word: one reader more. Their count is its lowest field.
  static constexpr std::uint64_t kReader = 1;

  /// A read phase begins for all that wait.
  void admit_waiting() {
    readers = static_cast<std::uint16_t>(readers + waiting);
    waiting = 0;
    phase = (phase + 1) & 0xffffff;
  }
};

}  // namespace grapnel::locks
