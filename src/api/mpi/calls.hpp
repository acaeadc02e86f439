// The calls of MPI that this library takes over, in one table, and the next function of each name.
//
//   MPI_Put, PMPI_Put (names.cpp) ─▶ front::Put(next, …) ─┬ a taken window: window::Window
//                                                         └ else next.Put(…): a profiler's or the host's
//
// Both names of each call are exported. A call of MPI_X that is for no taken window passes to the next MPI_X, which may
// be a profiler's; a call of PMPI_X passes to the host's PMPI_X. This library's own calls use `host()`.
// A call has a row here, a function `front::X` in the file of its kind, and nothing else.
// Threads: any. Cost: the first call looks up the table's names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

// CALL(name, (parameters as in mpi.h), arguments…)
#define GRAPNEL_MPI_PLAIN_CALLS(CALL)                                                                                  \
  /* job.cpp */                                                                                                        \
  CALL(Init, (int* argc, char*** argv), argc, argv)                                                                    \
  CALL(Init_thread, (int* argc, char*** argv, int required, int* provided), argc, argv, required, provided)            \
  /* alloc_mem.cpp */                                                                                                  \
  CALL(Alloc_mem, (MPI_Aint size, MPI_Info info, void* base), size, info, base)                                        \
  CALL(Free_mem, (void* base), base)                                                                                   \
  /* create.cpp */                                                                                                     \
  CALL(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win * win), info, comm, win)                             \
  CALL(Win_free, (MPI_Win * win), win)                                                                                 \
  /* memory.cpp */                                                                                                     \
  CALL(Win_attach, (MPI_Win win, void* base, MPI_Aint size), win, base, size)                                          \
  CALL(Win_detach, (MPI_Win win, const void* base), win, base)                                                         \
  /* attributes.cpp */                                                                                                 \
  CALL(Win_get_attr, (MPI_Win win, int keyval, void* value, int* flag), win, keyval, value, flag)                      \
  CALL(Win_get_group, (MPI_Win win, MPI_Group * group), win, group)                                                    \
  CALL(Win_set_info, (MPI_Win win, MPI_Info info), win, info)                                                          \
  CALL(Win_get_info, (MPI_Win win, MPI_Info * info), win, info)                                                        \
  /* epochs.cpp */                                                                                                     \
  CALL(Win_lock, (int type, int rank, int assertion, MPI_Win win), type, rank, assertion, win)                         \
  CALL(Win_unlock, (int rank, MPI_Win win), rank, win)                                                                 \
  CALL(Win_lock_all, (int assertion, MPI_Win win), assertion, win)                                                     \
  CALL(Win_unlock_all, (MPI_Win win), win)                                                                             \
  CALL(Win_flush, (int rank, MPI_Win win), rank, win)                                                                  \
  CALL(Win_flush_all, (MPI_Win win), win)                                                                              \
  CALL(Win_flush_local, (int rank, MPI_Win win), rank, win)                                                            \
  CALL(Win_flush_local_all, (MPI_Win win), win)                                                                        \
  CALL(Win_sync, (MPI_Win win), win)                                                                                   \
  CALL(Win_fence, (int assertion, MPI_Win win), assertion, win)                                                        \
  CALL(Win_post, (MPI_Group group, int assertion, MPI_Win win), group, assertion, win)                                 \
  CALL(Win_start, (MPI_Group group, int assertion, MPI_Win win), group, assertion, win)                                \
  CALL(Win_complete, (MPI_Win win), win)                                                                               \
  CALL(Win_wait, (MPI_Win win), win)                                                                                   \
  CALL(Win_test, (MPI_Win win, int* flag), win, flag)                                                                  \
  /* accumulates.cpp */                                                                                                \
  CALL(Fetch_and_op,                                                                                                   \
       (const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op, MPI_Win win), origin, \
       result, type, target, at, op, win)                                                                              \
  CALL(Compare_and_swap,                                                                                               \
       (const void* origin, const void* compare, void* result, MPI_Datatype type, int target, MPI_Aint at,             \
        MPI_Win win),                                                                                                  \
       origin, compare, result, type, target, at, win)                                                                 \
  /* requests.cpp */                                                                                                   \
  CALL(Wait, (MPI_Request * request, MPI_Status * status), request, status)                                            \
  CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), count, requests, statuses)                 \
  CALL(Waitany, (int count, MPI_Request requests[], int* place, MPI_Status* status), count, requests, place, status)   \
  CALL(Waitsome, (int count, MPI_Request requests[], int* done, int places[], MPI_Status statuses[]), count, requests, \
       done, places, statuses)                                                                                         \
  CALL(Test, (MPI_Request * request, int* flag, MPI_Status* status), request, flag, status)                            \
  CALL(Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[]), count, requests, flag,          \
       statuses)                                                                                                       \
  CALL(Testany, (int count, MPI_Request requests[], int* place, int* flag, MPI_Status* status), count, requests,       \
       place, flag, status)                                                                                            \
  CALL(Testsome, (int count, MPI_Request requests[], int* done, int places[], MPI_Status statuses[]), count, requests, \
       done, places, statuses)                                                                                         \
  CALL(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), request, flag, status)                \
  CALL(Request_free, (MPI_Request * request), request)

// The calls with counts or units of memory; MPI 4 has them with large ones too, by the suffix _c.
#define GRAPNEL_MPI_COUNTED_CALLS(CALL, suffix, Count, Unit)                                                           \
  /* create.cpp */                                                                                                     \
  CALL(Win_allocate##suffix, (MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win), size, \
       unit, info, comm, base, win)                                                                                    \
  CALL(Win_allocate_shared##suffix,                                                                                    \
       (MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win), size, unit, info, comm,     \
       base, win)                                                                                                      \
  CALL(Win_create##suffix, (void* base, MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm, MPI_Win* win), base,   \
       size, unit, info, comm, win)                                                                                    \
  /* memory.cpp */                                                                                                     \
  CALL(Win_shared_query##suffix, (MPI_Win win, int rank, MPI_Aint* size, Unit* unit, void* base), win, rank, size,     \
       unit, base)                                                                                                     \
  /* operations.cpp, accumulates.cpp */                                                                                \
  CALL(Put##suffix,                                                                                                    \
       (const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,               \
        MPI_Datatype target_type, MPI_Win win),                                                                        \
       origin, count, type, target, at, target_count, target_type, win)                                                \
  CALL(Get##suffix,                                                                                                    \
       (void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,                     \
        MPI_Datatype target_type, MPI_Win win),                                                                        \
       origin, count, type, target, at, target_count, target_type, win)                                                \
  CALL(Rput##suffix,                                                                                                   \
       (const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,               \
        MPI_Datatype target_type, MPI_Win win, MPI_Request* request),                                                  \
       origin, count, type, target, at, target_count, target_type, win, request)                                       \
  CALL(Rget##suffix,                                                                                                   \
       (void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,                     \
        MPI_Datatype target_type, MPI_Win win, MPI_Request* request),                                                  \
       origin, count, type, target, at, target_count, target_type, win, request)                                       \
  CALL(Accumulate##suffix,                                                                                             \
       (const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,               \
        MPI_Datatype target_type, MPI_Op op, MPI_Win win),                                                             \
       origin, count, type, target, at, target_count, target_type, op, win)                                            \
  CALL(Raccumulate##suffix,                                                                                            \
       (const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at, Count target_count,               \
        MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request),                                       \
       origin, count, type, target, at, target_count, target_type, op, win, request)                                   \
  CALL(                                                                                                                \
      Get_accumulate##suffix,                                                                                          \
      (const void* origin, Count count, MPI_Datatype type, void* result, Count result_count, MPI_Datatype result_type, \
       int target, MPI_Aint at, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win),                 \
      origin, count, type, result, result_count, result_type, target, at, target_count, target_type, op, win)          \
  CALL(Rget_accumulate##suffix,                                                                                        \
       (const void* origin, Count count, MPI_Datatype type, void* result, Count result_count,                          \
        MPI_Datatype result_type, int target, MPI_Aint at, Count target_count, MPI_Datatype target_type, MPI_Op op,    \
        MPI_Win win, MPI_Request* request),                                                                            \
       origin, count, type, result, result_count, result_type, target, at, target_count, target_type, op, win,         \
       request)

#if MPI_VERSION >= 4
#define GRAPNEL_MPI_ALL_CALLS(CALL)           \
  GRAPNEL_MPI_PLAIN_CALLS(CALL)               \
  GRAPNEL_MPI_COUNTED_CALLS(CALL, , int, int) \
  GRAPNEL_MPI_COUNTED_CALLS(CALL, _c, MPI_Count, MPI_Aint)
#else
#define GRAPNEL_MPI_ALL_CALLS(CALL) \
  GRAPNEL_MPI_PLAIN_CALLS(CALL)     \
  GRAPNEL_MPI_COUNTED_CALLS(CALL, , int, int)
#endif
#define GRAPNEL_PARAMETERS(...) __VA_ARGS__

namespace grapnel::front {

/// The next function of each name.
struct Calls {
#define GRAPNEL_MEMBER(name, parameters, ...) int(*name) parameters = nullptr;
  GRAPNEL_MPI_ALL_CALLS(GRAPNEL_MEMBER)
#undef GRAPNEL_MEMBER
};

struct NextCalls {
  Calls mpi;                  ///< the next MPI_X behind this library
  Calls pmpi;                 ///< the host's PMPI_X
  bool is_other_mpi = false;  ///< the program's MPI is not the one that this library was built with
};
const NextCalls& next_calls();

/// The host's functions, for this library's own calls.
inline const Calls& host() { return next_calls().pmpi; }

#define GRAPNEL_DECLARE(name, parameters, ...) int name(const Calls& next, GRAPNEL_PARAMETERS parameters);
GRAPNEL_MPI_ALL_CALLS(GRAPNEL_DECLARE)
#undef GRAPNEL_DECLARE

}  // namespace grapnel::front
