// The accumulate family: MPI_Accumulate, MPI_Get_accumulate, their request-based forms, MPI_Fetch_and_op and
// MPI_Compare_and_swap.
// SPDX-License-Identifier: Apache-2.0
#include "api/mpi/access.hpp"
#include "api/mpi/calls.hpp"
#include "api/mpi/job.hpp"
#include "api/mpi/numbers.hpp"
#include "api/mpi/requests.hpp"

namespace grapnel::front {
namespace {

using window::Layout;
using window::Outcome;
using window::Pending;

/// For a predefined type, by MPI's table. For a derived one the window checks whether its numbers have the operation.
bool exists(Operation operation, MPI_Datatype type) {
  const Predefined* const known = predefined(type);
  return known == nullptr || known->has(operation);
}

struct Update {
  const char* call;
  MPI_Op op;
  Buffer origin;
  Buffer result;  ///< of no type: nothing is fetched
  Target target;
  MPI_Request* request = nullptr;
};

Outcome apply(window::Window& window, const Update& what, const Layout* origin, const Layout* result,
              const Layout* target, Operation operation, Pending* pending) {
  const window::TargetSide target_side{what.target.at, target, what.target.count};
  if (what.result.type == MPI_DATATYPE_NULL) {
    return window.accumulate(side_of(what.origin, origin), what.target.rank, target_side, operation, pending);
  }
  return window.get_accumulate(side_of(what.origin, origin), side_of(what.result, result), what.target.rank,
                               target_side, operation, pending);
}

int update(const Taken& taken, const Update& what) {
  const auto operation = operation_of(what.op);
  // MPI_NO_OP does not look at the origin's side.
  const bool has_origin = operation != Operation::none || what.result.type == MPI_DATATYPE_NULL;
  const bool fetches = what.result.type != MPI_DATATYPE_NULL;
  const Layout* const target = layout_of(what.target.type);
  // The types are the same as a rule, and a derived one's layout takes a call of the host.
  const auto layout = [&](MPI_Datatype type) { return type == what.target.type ? target : layout_of(type); };
  const Layout* const origin = has_origin ? layout(what.origin.type) : nullptr;
  const Layout* const result = fetches ? layout(what.result.type) : nullptr;
  ArgumentCheck check(taken);
  if (has_origin) check.count("origin_count", what.origin.count);
  if (fetches) check.count("result_count", what.result.count);
  check.count("target_count", what.target.count);
  if (has_origin) check.layout("origin_datatype", origin);
  if (fetches) check.layout("result_datatype", result);
  check.layout("target_datatype", target);
  if (what.target.rank == MPI_PROC_NULL && check.ok()) return finish_call({}, what.request);
  check.rank(what.target.rank).displacement(what.target.at);
  check.holds(operation.has_value(), MPI_ERR_OP, "op is none of MPI's predefined operations");
  check.holds(!operation || exists(*operation, what.target.type), MPI_ERR_OP, "op does not exist for target_datatype");
  if (!check.ok()) [[unlikely]]
    return check.raise(what.call);
  const MpiCall scope(what.call);
  Pending pending;
  const Outcome outcome =
      apply(*taken.window, what, origin, result, target, *operation, what.request == nullptr ? nullptr : &pending);
  if (!outcome.ok()) [[unlikely]]
    return raise(taken, what.call, outcome);
  return finish_call(std::move(pending), what.request);
}

/// The type of a call that takes predefined ones only.
struct OneElement {
  const Predefined* type;
  int target;
  std::int64_t at;
};

ArgumentCheck& check_element(ArgumentCheck& check, const OneElement& element) {
  check.holds(element.type != nullptr, MPI_ERR_TYPE, "datatype is not predefined");
  if (element.target != MPI_PROC_NULL) check.rank(element.target).displacement(element.at);
  return check;
}

}  // namespace

int Fetch_and_op(const Calls& next, const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint at,
                 MPI_Op op, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Fetch_and_op(origin, result, type, target, at, op, win);
  const char* const call = "MPI_Fetch_and_op";
  const Predefined* const known = predefined(type);
  const auto operation = operation_of(op);
  ArgumentCheck check(*taken);
  check_element(check, {known, target, at});
  check.holds(operation.has_value(), MPI_ERR_OP, "op is none of MPI's predefined operations");
  if (!check.ok()) return check.raise(call);
  if (!check.holds(known->has(*operation), MPI_ERR_OP, "op does not exist for datatype").ok()) {
    return check.raise(call);
  }
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  const MpiCall scope(call);
  return answer(*taken, call,
                taken->window->fetch_and_op(origin, result, *known->layout->number(), target, at, *operation));
}

int Compare_and_swap(const Calls& next, const void* origin, const void* compare, void* result, MPI_Datatype type,
                     int target, MPI_Aint at, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Compare_and_swap(origin, compare, result, type, target, at, win);
  const char* const call = "MPI_Compare_and_swap";
  const Predefined* const known = predefined(type);
  ArgumentCheck check(*taken);
  check.holds(known != nullptr && is_comparable(known->type_class), MPI_ERR_TYPE,
              "datatype is no integer, logical or MPI_BYTE");
  if (!check_element(check, {known, target, at}).ok()) return check.raise(call);
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  const MpiCall scope(call);
  return answer(*taken, call,
                taken->window->compare_and_swap(origin, compare, result, known->layout->bytes(), target, at));
}

// The forms with large counts have the same bodies.
#define GRAPNEL_UPDATES(suffix, Count)                                                                                 \
  int Accumulate##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, int target,            \
                         MPI_Aint at, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {          \
    const Taken* const taken = find(win);                                                                              \
    if (taken == nullptr)                                                                                              \
      return next.Accumulate##suffix(origin, count, type, target, at, target_count, target_type, op, win);             \
    return update(*taken, {"MPI_Accumulate", op, {origin, count, type}, {}, {target, at, target_count, target_type}}); \
  }                                                                                                                    \
  int Raccumulate##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, int target,           \
                          MPI_Aint at, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,           \
                          MPI_Request* request) {                                                                      \
    const Taken* const taken = find(win);                                                                              \
    if (taken == nullptr)                                                                                              \
      return next.Raccumulate##suffix(origin, count, type, target, at, target_count, target_type, op, win, request);   \
    return update(                                                                                                     \
        *taken, {"MPI_Raccumulate", op, {origin, count, type}, {}, {target, at, target_count, target_type}, request}); \
  }                                                                                                                    \
  int Get_accumulate##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, void* result,      \
                             Count result_count, MPI_Datatype result_type, int target, MPI_Aint at,                    \
                             Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {                   \
    const Taken* const taken = find(win);                                                                              \
    if (taken == nullptr)                                                                                              \
      return next.Get_accumulate##suffix(origin, count, type, result, result_count, result_type, target, at,           \
                                         target_count, target_type, op, win);                                          \
    return update(*taken, {"MPI_Get_accumulate",                                                                       \
                           op,                                                                                         \
                           {origin, count, type},                                                                      \
                           {result, result_count, result_type},                                                        \
                           {target, at, target_count, target_type}});                                                  \
  }                                                                                                                    \
  int Rget_accumulate##suffix(const Calls& next, const void* origin, Count count, MPI_Datatype type, void* result,     \
                              Count result_count, MPI_Datatype result_type, int target, MPI_Aint at,                   \
                              Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,                    \
                              MPI_Request* request) {                                                                  \
    const Taken* const taken = find(win);                                                                              \
    if (taken == nullptr)                                                                                              \
      return next.Rget_accumulate##suffix(origin, count, type, result, result_count, result_type, target, at,          \
                                          target_count, target_type, op, win, request);                                \
    return update(*taken, {"MPI_Rget_accumulate",                                                                      \
                           op,                                                                                         \
                           {origin, count, type},                                                                      \
                           {result, result_count, result_type},                                                        \
                           {target, at, target_count, target_type},                                                    \
                           request});                                                                                  \
  }

GRAPNEL_UPDATES(, int)
#if MPI_VERSION >= 4
GRAPNEL_UPDATES(_c, MPI_Count)
#endif

}  // namespace grapnel::front
