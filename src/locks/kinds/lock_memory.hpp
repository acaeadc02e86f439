// Where the words of a set of locks lie: in segment memory of the node, mapped by its ranks and by its server.
//
//   a rank's part:     [count homes][records][a hold per lock][a place per lock]   homes: of the locks at home here
//   its leader's part: … [capacity lines][capacity keys]                     lines: this node's, for locks elsewhere
//
// A hold says what the rank has to do with a lock: misuse is found by it, and when the rank dies the others of its node
// can still read what it held. Places are for the kinds with a queue inside the node, and the rank's own; they lie here
// so that what a set takes is asked for in one piece, and refused in one.
//
// A home and a line are one cache line (64 bytes) each, and room for three payloads behind it where the set carries
// any. A line is made at the first use of a lock by this node, and stays: the key table is open addressing, keys are
// claimed by compare-and-swap and never removed. Zero bytes are the first state of everything.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::locks {

/// A lock of a set.
struct LockId {
  Rank home{};
  int index = 0;
  std::size_t ordinal = 0;    ///< home · count + index
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
  static constexpr std::uint32_t kLeastRecords = 256, kMostRecords = 4096;  ///< per rank
  static constexpr std::size_t kPlaceBytes = 16;
  static constexpr std::uint32_t kFirstRecord = 2;  ///< handles: 0 and 1 mean something else there

  LockMemory(const launch::Launch& launch, int count, std::size_t payload_bytes, std::size_t lines, bool has_places);

  /// What this rank allocates; then `place` gets the parts' addresses by rank (those of this node are used).
  std::size_t bytes_here() const;
  void place(const std::vector<void*>& parts);

  /// For LockId::here.
  std::byte* home_words(Rank home, int lock_index) const {
    std::byte* first = homes_[index(home)];
    return first == nullptr ? nullptr : first + static_cast<std::size_t>(lock_index) * stride_;
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
    return reinterpret_cast<std::atomic<Hold>*>(parts_[local] + holds_offset());
  }
  std::atomic<Hold>* my_holds() const { return holds(me_); }
  const std::vector<Rank>& local_ranks() const { return local_ranks_; }
  std::size_t lock_count() const { return count_ * homes_.size(); }
  /// By ordinal, kPlaceBytes each; of this rank.
  std::byte* my_places() const { return parts_[me_] + places_offset(); }
  std::uint32_t records() const { return std::uint32_t{1} << record_bits_; }

  bool has_payloads() const { return room_bytes_ != 0; }
  // Payload rooms of a home or a line, three of them. Without payloads they keep nothing.
  void keep(void* line, int room, ByteView payload) {
    if (room_bytes_ != 0) keep_bytes(line, room, payload);
  }
  Bytes kept(const void* line, int room) const;

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
  std::size_t table_offset() const {
    return places_offset() + (has_places_ ? (lock_count() * kPlaceBytes + 63) / 64 * 64 : 0);
  }
  std::byte* look_up(std::uint64_t key, bool make);
  void keep_bytes(void* line, int room, ByteView payload);

  std::size_t count_;
  std::size_t room_bytes_, stride_, capacity_;
  const bool has_places_;
  const unsigned record_bits_;     ///< of a record's number in its rank's part
  std::vector<std::byte*> homes_;  ///< by rank; null for those of other nodes
  std::vector<Rank> local_ranks_;
  bool leads_;
  std::uint32_t me_ = 0;           ///< my local index
  std::vector<std::byte*> parts_;  ///< by local index
  std::atomic<std::uint64_t>* keys_ = nullptr;
  std::byte* lines_ = nullptr;
};

}  // namespace grapnel::locks
