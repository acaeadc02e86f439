// How schedules are written: steps appended one by one, and the blocks of the nodes in a call's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/units.hpp"
#include "collective/group_nodes.hpp"
#include "collective/schedule.hpp"

namespace grapnel::collective {

/// What a message is for; those of a phase that has rounds add the round.
inline constexpr std::uint32_t kInNode = 0, kParts = 1, kBetween = 2, kToNode = 40, kMeeting = 50;
inline constexpr std::uint32_t kPieceBits = 24;

/// A long transfer goes in pieces, about 32 of them, so that a node passes one on while the next one comes.
inline std::size_t piece_bytes_of(std::size_t bytes) {
  return std::clamp(base::divide_up(bytes, std::size_t{32}), 64 * base::kKiB, 16 * base::kMiB);
}

/// Appends steps to a schedule.
class Writer {
 public:
  explicit Writer(Schedule& schedule) : schedule_(schedule) {}

  /// So many bytes of the call's memory.
  std::size_t take(std::size_t bytes) { return std::exchange(schedule_.memory_bytes, schedule_.memory_bytes + bytes); }

  /// `each(piece, offset, length)`; without bytes one piece of none, by which members see each other's call.
  template <typename Each>
  static void pieces(std::size_t bytes, Each each) {
    const std::size_t most = piece_bytes_of(bytes);
    std::uint32_t piece = 0;
    std::size_t at = 0;
    do {
      GRAPNEL_ASSERT(piece >> kPieceBits == 0, "piece {} of {} bytes has no name", piece, bytes);
      each(piece++, at, std::min(most, bytes - at));
      at += most;
    } while (at < bytes);
  }
  void send_piece(std::size_t to, std::uint32_t phase, std::uint32_t piece, std::size_t at, std::size_t bytes,
                  std::size_t total) {
    schedule_.steps.push_back({Step::Kind::send, phase << kPieceBits | piece, to, at, 0, bytes, total});
  }
  void receive_piece(std::size_t from, std::uint32_t phase, std::uint32_t piece, std::size_t at, std::size_t bytes,
                     std::size_t total) {
    schedule_.steps.push_back({Step::Kind::receive, phase << kPieceBits | piece, from, at, 0, bytes, total});
  }
  void send(std::size_t to, std::uint32_t phase, std::size_t at, std::size_t bytes) {
    pieces(bytes, [&](std::uint32_t piece, std::size_t offset, std::size_t length) {
      send_piece(to, phase, piece, at + offset, length, bytes);
    });
  }
  void receive(std::size_t from, std::uint32_t phase, std::size_t at, std::size_t bytes) {
    pieces(bytes, [&](std::uint32_t piece, std::size_t offset, std::size_t length) {
      receive_piece(from, phase, piece, at + offset, length, bytes);
    });
  }
  void join(std::size_t into, std::size_t from, std::size_t bytes) {
    schedule_.steps.push_back({Step::Kind::join, 0, 0, into, from, bytes});
  }
  void copy(std::size_t to, std::size_t from, std::size_t bytes) {
    schedule_.steps.push_back({Step::Kind::copy, 0, 0, to, from, bytes});
  }

 private:
  Schedule& schedule_;
};

/// A node's blocks of bytes, one per node, in the order in which they come to it: its own first, then the next node's,
/// around the group. So what it sends and receives in a round lies in one run.
class Blocks {
 public:
  Blocks(const GroupNodes& nodes, std::size_t at, const std::vector<std::size_t>& bytes_of_nodes) : begins_{at} {
    for (std::size_t i = 0; i < bytes_of_nodes.size(); ++i) {
      begins_.push_back(begins_.back() + bytes_of_nodes[(nodes.my_node + i) % bytes_of_nodes.size()]);
    }
  }
  /// Of the i-th node from mine on; of `count` from it on.
  std::size_t begin(std::size_t i) const { return begins_[i]; }
  std::size_t bytes(std::size_t i, std::size_t count = 1) const { return begins_[i + count] - begins_[i]; }

 private:
  std::vector<std::size_t> begins_;
};

}  // namespace grapnel::collective
