// Calls on memory of the own node, without what they do not need.
//
//   MPI_Put (names.cpp) ─▶ near::Put ─┬ true: done
//                                     └ false: front::Put, the whole call: waits, errors, the host's windows
//
// A call here takes what most calls are: a taken window; predefined types, the same on both sides; a target of the own
// node whose lock this rank holds, or an epoch in which it has accessed the target (window/near.hpp). It has then no
// error and no wait. So there are no layouts, no messages for errors and no scope of a wait; the handle, the type and
// the target are one look-up each. Instructions with these calls and without them, by `./dev bench instructions`:
//
//   put 8 B, flush      239, 1,040        accumulate 4 KiB, flush    915, 3,450
//   fetch-and-op, flush 437, 1,300        shared lock, put, unlock   953, 1,880
//
// A call of the table that is not here answers false. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>

#include "api/mpi/calls.hpp"
#include "api/mpi/job.hpp"
#include "api/mpi/numbers.hpp"
#include "api/mpi/types.hpp"
#include "rma/update_kernels.hpp"

namespace grapnel::front::near {

#define GRAPNEL_NO_SHORT_WAY(name, ...)      \
  template <typename... Arguments>           \
  constexpr bool name(const Arguments&...) { \
    return false;                            \
  }
GRAPNEL_MPI_ALL_CALLS(GRAPNEL_NO_SHORT_WAY)
#undef GRAPNEL_NO_SHORT_WAY

/// Of `count` elements of `bytes`; 0 where there are none, or where their product may be too large.
inline std::size_t bytes_of(std::int64_t count, std::size_t bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  return count > 0 && count < kMost ? static_cast<std::size_t>(count) * bytes : 0;
}

template <typename Count>
bool put(const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, MPI_Win win) {
  const Taken* const taken = find(win);
  const Predefined* const known = predefined(type);
  if (taken == nullptr || known == nullptr) return false;
  const std::size_t bytes = bytes_of(count, known->bytes);
  return bytes != 0 && taken->window->near().put(target, at, origin, bytes);
}

template <typename Count>
bool get(void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, MPI_Win win) {
  const Taken* const taken = find(win);
  const Predefined* const known = predefined(type);
  if (taken == nullptr || known == nullptr) return false;
  const std::size_t bytes = bytes_of(count, known->bytes);
  return bytes != 0 && taken->window->near().get(target, at, origin, bytes);
}

struct Elements {
  MPI_Datatype type;
  std::int64_t count;
};

/// `old_elements` null: none are fetched.
inline bool update(MPI_Win win, int target, MPI_Aint at, const Elements& elements, MPI_Op op, const void* origin,
                   void* old_elements) {
  const Taken* const taken = find(win);
  const Predefined* const known = predefined(elements.type);
  const auto operation = operation_of(op);
  if (taken == nullptr || known == nullptr || !operation || !known->has(*operation)) return false;
  if (origin == nullptr && *operation != Operation::none) return false;
  const Reduction* const kernel = rma::find_kernel(*operation, known->number);
  const std::size_t bytes = bytes_of(elements.count, known->element_bytes);
  return bytes != 0 && kernel != nullptr &&
         taken->window->near().update(target, at, {*operation, known->number}, *kernel, origin, old_elements, bytes);
}

// The forms with large counts have the same bodies.
#define GRAPNEL_NEAR(suffix, Count)                                                                                  \
  inline bool Put##suffix(const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,               \
                          Count target_count, MPI_Datatype target_type, MPI_Win win) {                               \
    return type == target_type && count == target_count && put(origin, count, type, target, at, win);                \
  }                                                                                                                  \
  inline bool Get##suffix(void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count, \
                          MPI_Datatype target_type, MPI_Win win) {                                                   \
    return type == target_type && count == target_count && get(origin, count, type, target, at, win);                \
  }                                                                                                                  \
  inline bool Accumulate##suffix(const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,        \
                                 Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {             \
    return type == target_type && count == target_count && op != MPI_NO_OP &&                                        \
           update(win, target, at, {type, count}, op, origin, nullptr);                                              \
  }                                                                                                                  \
  inline bool Get_accumulate##suffix(const void* origin, Count count, MPI_Datatype type, void* result,               \
                                     Count result_count, MPI_Datatype result_type, int target, MPI_Aint at,          \
                                     Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {         \
    return type == target_type && count == target_count && type == result_type && count == result_count &&           \
           result != nullptr && update(win, target, at, {type, count}, op, origin, result);                          \
  }
GRAPNEL_NEAR(, int)
#if MPI_VERSION >= 4
GRAPNEL_NEAR(_c, MPI_Count)
#endif
#undef GRAPNEL_NEAR

inline bool Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op,
                         MPI_Win win) {
  return result != nullptr && update(win, target, at, {type, 1}, op, origin, result);
}

inline bool Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int target,
                             MPI_Aint at, MPI_Win win) {
  const Taken* const taken = find(win);
  const Predefined* const known = predefined(type);
  if (taken == nullptr || known == nullptr || !is_comparable(known->type_class)) return false;
  if (origin == nullptr || compare == nullptr || result == nullptr) return false;
  const std::size_t bytes = known->bytes;  // of an integer
  std::uint64_t expected = 0, desired = 0, found = 0;
  std::memcpy(&expected, compare, bytes);
  std::memcpy(&desired, origin, bytes);
  if (!taken->window->near().compare(target, at, bytes, expected, desired, found)) return false;
  std::memcpy(result, &found, bytes);
  return true;
}

inline bool Win_flush(int rank, MPI_Win win) {
  const Taken* const taken = find(win);
  return taken != nullptr && taken->window->near().flush(rank);
}

inline bool Win_flush_local(int rank, MPI_Win win) { return Win_flush(rank, win); }

inline bool Win_lock(int type, int rank, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  const bool shared = type == MPI_LOCK_SHARED;
  if (taken == nullptr || (!shared && type != MPI_LOCK_EXCLUSIVE) || assertion != 0) return false;
  return taken->window->lock_at_once(rank, shared);
}

}  // namespace grapnel::front::near
