// What Tmk_distribute sends: a list of records in the shared heap, each with the bytes of an object.
//
//   List (a page of its own) ──▶ first ──▶ … ──▶ last        a record: its head, the module's name, the bytes
//
// Records are appended and read under a lock of the heap, and stay for good. Each process keeps how many it has taken.
// After an acquire it compares this number with the list's, whose page changes by an append alone: one load where
// nothing is new.
//
// Invariants: 1. An append that is ordered before an acquire is seen by the load after it, as any write to the heap.
// 2. The load may see the count of an append that is not ordered before it, whose record may not be visible yet; so
// the records are read after an acquire of the list's lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "grapnel/runtime.hpp"

namespace grapnel::tmk {

class Distribution {
 public:
  /// Collective: makes the list. `lock` is a lock of the heap that the program cannot name. Errors: peer_dead.
  Status open(Runtime& runtime, SharedHeap& heap, int lock);

  /// Appends the bytes of an object in some module's writable data. Nothing to do for one in the shared heap.
  /// Errors: invalid_argument (not in a module's writable data), no_memory, peer_dead.
  Status publish(const void* object, std::size_t bytes);

  /// After an acquire: copies what the other processes have published since the last call to this process's objects.
  /// Errors: invalid_argument (this process has no such object), peer_dead.
  Status take_new() {
    if (__atomic_load_n(&list_->count, __ATOMIC_RELAXED) == taken_) [[likely]]  // invariant 2
      return {};
    return take_under_lock();
  }

 private:
  struct Record;
  struct List {
    std::uint64_t count;
    Record* first;
    Record* last;
  };

  bool in_heap(const void* object) const;
  Result<Record*> make_record(const void* object, std::size_t bytes) const;
  void append(Record* record);
  Status take_under_lock();
  Status take(const Record& record) const;

  SharedHeap heap_;
  int lock_ = 0;
  std::uint32_t me_ = 0;
  bool alone_ = true;
  List* list_ = nullptr;
  std::uint64_t taken_ = 0;       ///< records of the list, from its begin
  Record* last_taken_ = nullptr;  ///< the last of them
};

}  // namespace grapnel::tmk
