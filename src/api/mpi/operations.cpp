// MPI_Put, MPI_Get and their request-based forms.
// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/access.hpp"
#include "api/mpi/calls.hpp"
#include "api/mpi/job.hpp"
#include "api/mpi/requests.hpp"

namespace grapnel::front {
namespace {

using window::Outcome;
using window::Pending;
using window::Window;

/// `request` null: completed by flush.
using Move = Outcome (Window::*)(const window::Side&, int, const window::TargetSide&, Pending*);

int move(const Taken& taken, const char* call, Move work, const Buffer& origin, const Target& target,
         MPI_Request* request) {
  const window::Layout* const layout = layout_of(origin.type);
  const window::Layout* const target_layout = origin.type == target.type ? layout : layout_of(target.type);
  ArgumentCheck check(taken);
  check.count("origin_count", origin.count).count("target_count", target.count);
  check.layout("origin_datatype", layout).layout("target_datatype", target_layout);
  if (target.rank == MPI_PROC_NULL && check.ok()) return finish_call({}, request);
  if (!check.rank(target.rank).displacement(target.at).ok()) [[unlikely]]
    return check.raise(call);
  const MpiCall scope(call);
  Pending pending;
  const Outcome outcome =
      (taken.window.get()->*work)(side_of(origin, layout), target.rank, {target.at, target_layout, target.count},
                                  request == nullptr ? nullptr : &pending);
  if (!outcome.ok()) [[unlikely]]
    return raise(taken, call, outcome);
  return finish_call(std::move(pending), request);
}

}  // namespace

// The forms with large counts have the same bodies.
#define GRAPNEL_MOVES(suffix, Count)                                                                                \
  int Put##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,   \
                  Count target_count, MPI_Datatype target_type, MPI_Win win) {                                      \
    const Taken* const taken = find(win);                                                                           \
    if (taken == nullptr) return next.Put##suffix(origin, count, type, target, at, target_count, target_type, win); \
    return move(*taken, "MPI_Put", &Window::put, {origin, count, type}, {target, at, target_count, target_type},    \
                nullptr);                                                                                           \
  }                                                                                                                 \
  int Get##suffix(const Calls& next, void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,         \
                  Count target_count, MPI_Datatype target_type, MPI_Win win) {                                      \
    const Taken* const taken = find(win);                                                                           \
    if (taken == nullptr) return next.Get##suffix(origin, count, type, target, at, target_count, target_type, win); \
    return move(*taken, "MPI_Get", &Window::get, {origin, count, type}, {target, at, target_count, target_type},    \
                nullptr);                                                                                           \
  }                                                                                                                 \
  int Rput##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,  \
                   Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {               \
    const Taken* const taken = find(win);                                                                           \
    if (taken == nullptr)                                                                                           \
      return next.Rput##suffix(origin, count, type, target, at, target_count, target_type, win, request);           \
    return move(*taken, "MPI_Rput", &Window::put, {origin, count, type}, {target, at, target_count, target_type},   \
                request);                                                                                           \
  }                                                                                                                 \
  int Rget##suffix(const Calls& next, void* origin, Count count, MPI_Datatype type, int target, MPI_Aint at,        \
                   Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {               \
    const Taken* const taken = find(win);                                                                           \
    if (taken == nullptr)                                                                                           \
      return next.Rget##suffix(origin, count, type, target, at, target_count, target_type, win, request);           \
    return move(*taken, "MPI_Rget", &Window::get, {origin, count, type}, {target, at, target_count, target_type},   \
                request);                                                                                           \
  }

GRAPNEL_MOVES(, int)
#if MPI_VERSION >= 4
GRAPNEL_MOVES(_c, MPI_Count)
#endif

}  // namespace grapnel::front
