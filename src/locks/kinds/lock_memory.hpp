// Where the words of a set of locks lie: in each node one block of segment memory, which the node's first member
// allocates, mapped by the node's ranks and by its server.
//
//   block:    [reported][a part per member of the node][capacity lines][capacity keys]   lines: locks at home elsewhere
//   part:     [count homes][records][a hold per lock][a place per lock][count lines of readers][a number per lock]
//             homes: of the locks at home there
//
// Reported: 1 once a process of the node has reported which locks a dead rank held.
// A hold: what the rank has to do with a lock; misuse is found by it, and when the rank dies the others of its node
// can still read what it held. Records and places are for the kinds with a queue inside the node; places are the rank's
// own, and lie here so that what a set takes is asked for in one piece, and refused in one. Readers and numbers are for
// shared_mode.hpp: a line per lock at home there, where its readers count; a number of the rank per lock of the set.
//
// A home and a line are one cache line (64 bytes) each, and room for three payloads behind it where the set carries
// any. A line is made at the first use of a lock by this node, and stays: the key table is open addressing, keys are
// claimed by compare-and-swap and never removed. Zero bytes are the first state of everything.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::locks {

/// A lock of a set.
struct LockId {
  Rank home{};
  int index = 0;
  std::size_t ordinal = 0;    ///< the home's place in the group · count + index
  std::byte* here = nullptr;  ///< the home's words, where the home is of this node; else null
};

/// What a rank has to do with a lock. Granted: it holds what it started, and has not looked yet.
enum class Hold : std::uint8_t { none, wanted, granted, held, shared };

/// A place in a queue inside a node (node_queue.hpp). Belongs to a rank; in use until the one behind has
/// seen that it was passed.
struct alignas(64) Record {
  os::Word link;
  std::atomic<std::uint32_t> in_use;
};

class LockMemory {
 public:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr std::uint32_t kMostRecords = 4096;  ///< per rank
  static constexpr std::size_t kPlaceBytes = 16;
  static constexpr std::uint32_t kFirstRecord = 2;  ///< handles: 0 and 1 mean something else there

  /// What a kind needs beside homes and holds.
  struct Needs {
    std::size_t payload_bytes = 0;  ///< in each room
    std::size_t lines = 0;
    bool places = false, readers = false;
  };

  /// Of this node's part in a set of `group`, of which this rank may be no member.
  LockMemory(const launch::Launch& launch, const launch::Group& group, int count, const Needs& needs);

  /// The node's block; its first member allocates it, and every process of the node that uses the set gets its address.
  std::size_t block_bytes() const;
  bool allocates_block() const { return me_ == 0; }
  Rank block_owner() const { return local_ranks_.front(); }
  void use_block(void* block);
  std::byte* block() const { return block_; }

  /// For LockId::here. `home`: its place in the group.
  std::byte* home_words(std::size_t home, int lock_index) const {
    std::byte* first = homes_[home];
    return first == nullptr ? nullptr : first + static_cast<std::size_t>(lock_index) * stride_;
  }
  /// The same where all members are of this node.
  std::byte* home_words_in_node(std::size_t home, int lock_index) const {
    return homes_[home] + static_cast<std::size_t>(lock_index) * stride_;
  }
  /// The home's words; for locks at home in this node.
  template <typename T>
  static T& home(const LockId& lock) {
    static_assert(sizeof(T) <= kLineBytes);
    return *reinterpret_cast<T*>(lock.here);
  }

  /// This node's line with that key (not 0), or null.
  template <typename T>
  T* find_line(std::uint64_t key) {
    static_assert(sizeof(T) <= kLineBytes);
    return reinterpret_cast<T*>(look_up(key, false));
  }
  /// The same, made if need be; null when the table is full.
  template <typename T>
  T* make_line(std::uint64_t key) {
    static_assert(sizeof(T) <= kLineBytes);
    return reinterpret_cast<T*>(look_up(key, true));
  }
  std::size_t capacity() const { return capacity_; }

  /// By ordinal: what the rank at that place of this node has to do with the locks of the set.
  std::atomic<Hold>* holds(std::size_t local) const {
    return reinterpret_cast<std::atomic<Hold>*>(part(local) + holds_offset());
  }
  // Null where this rank is no member.
  std::atomic<Hold>* my_holds() const { return is_member() ? holds(me_) : nullptr; }
  /// By ordinal, kPlaceBytes each; of this rank.
  std::byte* my_places() const { return is_member() ? part(me_) + places_offset() : nullptr; }

  /// The line of a lock at home in this node in which its readers count.
  std::byte* readers(const LockId& lock) const {
    return homes_[lock.ordinal / count_] + readers_offset() + lock.ordinal % count_ * kLineBytes;
  }
  /// By ordinal: this rank's number.
  std::uint32_t* my_numbers() const {
    return is_member() ? reinterpret_cast<std::uint32_t*>(part(me_) + numbers_offset()) : nullptr;
  }

  bool is_member() const { return me_ < local_ranks_.size(); }
  /// The members of this node.
  const std::vector<Rank>& local_ranks() const { return local_ranks_; }
  std::size_t lock_count() const { return count_ * homes_.size(); }
  std::uint32_t records() const { return has_places_ ? std::uint32_t{1} << record_bits_ : 0; }
  std::atomic<std::uint32_t>& reported() const { return *reinterpret_cast<std::atomic<std::uint32_t>*>(block_); }

  bool has_payloads() const { return room_bytes_ != 0; }
  // Payload rooms of a home or a line, three of them. Without payloads they keep nothing.
  void keep(void* line, int room, ByteView payload) {
    if (room_bytes_ != 0) keep_bytes(line, room, payload);
  }
  Bytes kept(const void* line, int room) const;
  /// The same in place; valid until a rank keeps another payload there.
  ByteView kept_in_place(const void* line, int room) const;

  /// A free record of this rank; 0 when all are in use. `hint` spreads the search.
  std::uint32_t take_record(std::size_t hint);
  Record& record(std::uint32_t handle);
  /// From any rank of the node.
  void give_back(std::uint32_t handle) {
    record(handle).in_use.store(0, std::memory_order_release);  // pairs with the exchange in `take_record`
  }

 private:
  std::size_t holds_offset() const { return count_ * stride_ + records() * sizeof(Record); }
  std::size_t places_offset() const { return holds_offset() + (lock_count() + 63) / 64 * 64; }
  std::size_t readers_offset() const {
    return places_offset() + (has_places_ ? (lock_count() * kPlaceBytes + 63) / 64 * 64 : 0);
  }
  std::size_t numbers_offset() const { return readers_offset() + count_ * kLineBytes; }
  std::byte* part(std::size_t local) const { return first_part_ + local * part_bytes_; }
  std::byte* look_up(std::uint64_t key, bool make);
  void keep_bytes(void* line, int room, ByteView payload);

  std::size_t count_;
  std::size_t room_bytes_, stride_, capacity_;
  const bool has_places_;
  const unsigned record_bits_;  ///< of a record's number in its rank's part
  const std::size_t part_bytes_;
  std::vector<std::byte*> homes_;  ///< by place in the group; null for those of other nodes
  std::vector<Rank> local_ranks_;
  std::vector<std::size_t> local_places_;  ///< in the group, of `local_ranks_`
  std::uint32_t me_;                       ///< in `local_ranks_`; its size where this rank is no member
  std::byte* block_ = nullptr;
  std::byte* first_part_ = nullptr;
  std::atomic<std::uint64_t>* keys_ = nullptr;
  std::byte* lines_ = nullptr;
};

}  // namespace grapnel::locks
