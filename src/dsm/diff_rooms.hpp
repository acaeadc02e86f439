// Rooms for messages of diffs, kept from one release to the next: a new one of 64 KiB costs 16 page faults, as much as
// the diffs in it.
//
// Threads: any, of one rank.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "dsm/messages.hpp"

namespace grapnel::dsm {

class DiffRooms {
 public:
  using Room = std::unique_ptr<std::byte[]>;

  /// One of kMostDiffsBytes.
  Room take() {
    const base::MutexLock lock(mutex_);
    if (kept_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kMostDiffsBytes);
    Room room = std::move(kept_.back());
    kept_.pop_back();
    return room;
  }

  /// One that is not read any more.
  void give_back(Room room) {
    GRAPNEL_ASSERT(room != nullptr, "no room is given back");
    const base::MutexLock lock(mutex_);
    if (kept_.size() < kMostKept) kept_.push_back(std::move(room));
  }

 private:
  static constexpr std::size_t kMostKept = 16;  ///< 1 MiB
  base::Mutex mutex_;
  std::vector<Room> kept_ GRAPNEL_GUARDED_BY(mutex_);
};

}  // namespace grapnel::dsm
