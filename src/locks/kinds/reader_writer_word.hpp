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

  static ReaderWriterView unpack(std::uint64_t word);
  std::uint64_t pack() const;

  /// A read phase begins for all that wait.
  void admit_waiting() {
    readers = static_cast<std::uint16_t>(readers + waiting);
    waiting = 0;
    phase = (phase + 1) & 0xffffff;
  }
};

}  // namespace grapnel::locks
