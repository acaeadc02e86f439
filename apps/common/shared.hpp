// Shared memory and shares of work, for programs on TreadMarks' interface.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Tmk.h>

#include <cstddef>
#include <span>

namespace app {

/// The barriers of the common code; an application numbers its own from `kFirstFree` on.
enum BarrierNumber : unsigned { kDistributed, kStart, kStop, kGathered, kEarlyExit, kFirstFree };

/// Collective: process 0 sets the global `object` by `fill()`, and all processes have its bytes on return.
template <typename T, typename Fill>
void distribute(T& object, Fill fill) {
  if (Tmk_proc_id == 0) {
    object = fill();
    const auto bytes = std::as_bytes(std::span<T, 1>(&object, 1));
    Tmk_distribute(bytes.data(), bytes.size());
  }
  Tmk_barrier(kDistributed);
}

/// Shared memory for `count` elements, of one process; null where there is no room.
template <typename T>
T* allocate(std::size_t count) {
  return static_cast<T*>(Tmk_malloc(count * sizeof(T)));
}

/// The rows [begin, end) of one process. Empty where there are fewer rows than processes.
struct Rows {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// This process's share of `rows`, in consecutive blocks whose lengths differ by at most one.
inline Rows my_rows(std::size_t rows) {
  return {rows * Tmk_proc_id / Tmk_nprocs, rows * (Tmk_proc_id + 1) / Tmk_nprocs};
}

/// Those of `rows` in [begin, end).
inline Rows clip(Rows rows, std::size_t begin, std::size_t end) {
  rows.begin = rows.begin < begin ? begin : rows.begin;
  rows.end = rows.end > end ? end : rows.end;
  return rows;
}

}  // namespace app
