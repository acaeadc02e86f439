// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/reader_writer_word.hpp"

namespace grapnel::locks {

ReaderWriterView ReaderWriterView::unpack(std::uint64_t word) {
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

std::uint64_t ReaderWriterView::pack() const {
  const auto bit = [](bool value, int place) { return std::uint64_t{value} << place; };
  return readers | std::uint64_t{waiting} << 16 | bit(writer, 32) | bit(writer_waits, 33) | std::uint64_t{grant} << 34 |
         bit(asked_shared, 36) | bit(asked_sole, 37) | bit(recalled, 38) | bit(asked_join, 39) |
         std::uint64_t{phase} << 40;
}

}  // namespace grapnel::locks
