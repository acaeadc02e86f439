// Global operations: a table of operation names, a table of element types, and MPI's reductions.
//
// "absmin" and "absmax" are the least and the largest of the absolute values: each rank takes its own, and MPI reduces.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"
#include "api/armci/scopes.hpp"
#include "mpi/status.hpp"

using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

struct Operation {
  std::string_view name;
  MPI_Op op;
  bool of_absolutes;
  bool integers_only;
};

// The first whose name begins the caller's wins: Fortran hands names over without an end. So longer ones come first.
const std::array kOperations = {
    Operation{"absmax", MPI_MAX, true, false}, Operation{"absmin", MPI_MIN, true, false},
    Operation{"land", MPI_LAND, false, true},  Operation{"band", MPI_BAND, false, true},
    Operation{"max", MPI_MAX, false, false},   Operation{"min", MPI_MIN, false, false},
    Operation{"lor", MPI_LOR, false, true},    Operation{"bor", MPI_BOR, false, true},
    Operation{"&&", MPI_LAND, false, true},    Operation{"||", MPI_LOR, false, true},
    Operation{"or", MPI_BOR, false, true},     Operation{"+", MPI_SUM, false, false},
    Operation{"*", MPI_PROD, false, false},    Operation{"&", MPI_BAND, false, true},
    Operation{"|", MPI_BOR, false, true},
};

template <typename Element>
void take_absolutes(void* x, int n) {
  auto* const elements = static_cast<Element*>(x);
  for (int i = 0; i < n; ++i) elements[i] = std::abs(elements[i]);
}

/// Negative, zero or positive, as the elements at `a` and `b` compare.
template <typename Element>
int compare(const void* a, const void* b) {
  Element left, right;
  std::memcpy(&left, a, sizeof left);
  std::memcpy(&right, b, sizeof right);
  return left < right ? -1 : right < left ? 1 : 0;
}

struct ElementKind {
  int type;
  MPI_Datatype of_mpi;
  std::size_t bytes;
  bool integer;
  void (*take_absolutes)(void* x, int n);
  int (*compare)(const void* a, const void* b);
};

template <typename Element>
ElementKind kind(int type, MPI_Datatype of_mpi) {
  return {type, of_mpi, sizeof(Element), std::is_integral_v<Element>, take_absolutes<Element>, compare<Element>};
}

const std::array kKinds = {kind<int>(ARMCI_INT, MPI_INT), kind<long>(ARMCI_LONG, MPI_LONG),
                           kind<long long>(ARMCI_LONG_LONG, MPI_LONG_LONG), kind<float>(ARMCI_FLOAT, MPI_FLOAT),
                           kind<double>(ARMCI_DOUBLE, MPI_DOUBLE)};

Result<const ElementKind*> find_kind(int type) {
  for (const ElementKind& each : kKinds) {
    if (each.type == type) return &each;
  }
  return Status(Code::invalid_argument, fmt::format("type {} is none of ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, "
                                                    "ARMCI_FLOAT, ARMCI_DOUBLE",
                                                    type));
}

Result<const Operation*> find_operation(const char* op, const ElementKind& kind) {
  if (op == nullptr) return null_pointer("op");
  for (const Operation& each : kOperations) {
    if (std::strncmp(op, each.name.data(), each.name.size()) != 0) continue;
    if (each.integers_only && !kind.integer) {
      return Status(Code::invalid_argument,
                    fmt::format("op \"{}\" is for integers, not for type {}", each.name, kind.type));
    }
    return &each;
  }
  return Status(Code::invalid_argument, fmt::format("op \"{:.8}\" is unknown", op));
}

enum class Receiver { everywhere, first };

Status reduce(MPI_Comm comm, Receiver result, void* x, int n, const char* op, int type) {
  if (n < 0) return negative("n", n);
  GRAPNEL_ASSIGN_OR_RETURN(const auto kind, find_kind(type));
  GRAPNEL_ASSIGN_OR_RETURN(const auto operation, find_operation(op, *kind));
  if (n == 0) return {};
  if (x == nullptr) return null_pointer("x");
  if (comm == MPI_COMM_NULL) return {};
  if (operation->of_absolutes) kind->take_absolutes(x, n);
  MPI_Request request = MPI_REQUEST_NULL;
  if (result == Receiver::everywhere) {
    GRAPNEL_TRY(mpi::status_of(MPI_Iallreduce(MPI_IN_PLACE, x, n, kind->of_mpi, operation->op, comm, &request)));
  } else {
    int me = 0;
    MPI_Comm_rank(comm, &me);
    const void* const mine = me == 0 ? MPI_IN_PLACE : x;
    GRAPNEL_TRY(mpi::status_of(MPI_Ireduce(mine, x, n, kind->of_mpi, operation->op, 0, comm, &request)));
  }
  return wait_for_mpi(request, n * static_cast<std::int64_t>(kind->bytes));
}

Status reduce_in_scope(Job& job, GroupEntry& group, int scope, Receiver result, void* x, int n, const char* op,
                       int type) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto comm, comm_of_scope(job, group, scope));
  return reduce(comm, result, x, n, op, type);
}

/// Over all ranks; before ARMCI_Init too.
void reduce_all(const char* call, Receiver result, void* x, int n, const char* op, int type) {
  const Status status = reduce(world_comm(call), result, x, n, op, type);
  if (!status.ok()) stop(call, status);
}

void reduce_in_world(const char* call, int scope, Receiver result, void* x, int n, const char* op, int type) {
  if (scope == SCOPE_ALL) return reduce_all(call, result, x, n, op, type);
  must(call, [&](Job& job) { return reduce_in_scope(job, job.groups.world(), scope, result, x, n, op, type); });
}

void reduce_in_group(const char* call, int scope, void* x, int n, const char* op, int type, ARMCI_Group* group) {
  must(call, [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group));
    return reduce_in_scope(job, *entry, scope, Receiver::everywhere, x, n, op, type);
  });
}

/// The n bytes of all and whether they count are sent to all; each picks the same winner.
Status select(MPI_Comm comm, void* x, int n, const char* op, int type, bool contribute) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto kind, find_kind(type));
  if (n < static_cast<int>(kind->bytes)) {
    return {Code::invalid_argument, fmt::format("n is {}; the element alone takes {} bytes", n, kind->bytes)};
  }
  if (x == nullptr) return null_pointer("x");
  const bool least = op != nullptr && std::strncmp(op, "min", 3) == 0;
  if (!least && (op == nullptr || std::strncmp(op, "max", 3) != 0)) {
    return {Code::invalid_argument, fmt::format("op \"{:.8}\" is neither \"min\" nor \"max\"", op ? op : "NULL")};
  }
  if (comm == MPI_COMM_NULL) return {};
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const std::size_t stride = static_cast<std::size_t>(n) + 1;
  std::vector<unsigned char> mine(stride), all(stride * static_cast<std::size_t>(ranks));
  mine[0] = contribute ? 1 : 0;
  std::memcpy(mine.data() + 1, x, static_cast<std::size_t>(n));
  MPI_Request request = MPI_REQUEST_NULL;
  GRAPNEL_TRY(
      mpi::status_of(MPI_Iallgather(mine.data(), n + 1, MPI_BYTE, all.data(), n + 1, MPI_BYTE, comm, &request)));
  GRAPNEL_TRY(wait_for_mpi(request, n));
  const unsigned char* winner = nullptr;
  for (std::size_t at = 0; at < all.size(); at += stride) {
    const unsigned char* const candidate = all.data() + at;
    if (candidate[0] == 0) continue;
    const int order = winner == nullptr ? -1 : kind->compare(candidate + 1, winner + 1) * (least ? 1 : -1);
    if (order < 0) winner = candidate;
  }
  if (winner != nullptr) std::memcpy(x, winner + 1, static_cast<std::size_t>(n));
  return {};
}

void select_all(const char* call, void* x, int n, const char* op, int type, int contribute) {
  const Status status = select(world_comm(call), x, n, op, type, contribute != 0);
  if (!status.ok()) stop(call, status);
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE_LOWER(void, msg_gop_scope, (int scope, void* x, int n, char* op, int type)) {
  reduce_in_world("armci_msg_gop_scope", scope, Receiver::everywhere, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_reduce, (void* x, int n, char* op, int type)) {
  reduce_all("armci_msg_reduce", Receiver::first, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_reduce_scope, (int scope, void* x, int n, char* op, int type)) {
  reduce_in_world("armci_msg_reduce_scope", scope, Receiver::first, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_group_gop_scope, (int scope, void* x, int n, char* op, int type, ARMCI_Group* group)) {
  reduce_in_group("armci_msg_group_gop_scope", scope, x, n, op, type, group);
}

ARMCI_DEFINE_LOWER(void, msg_sel_scope, (int scope, void* x, int n, char* op, int type, int contribute)) {
  if (scope == SCOPE_ALL) return select_all("armci_msg_sel_scope", x, n, op, type, contribute);
  must("armci_msg_sel_scope", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto comm, comm_of_scope(job, job.groups.world(), scope));
    return select(comm, x, n, op, type, contribute != 0);
  });
}

ARMCI_DEFINE_LOWER(void, msg_sel, (void* x, int n, char* op, int type, int contribute)) {
  select_all("armci_msg_sel", x, n, op, type, contribute);
}

// One line of the table per type makes its three calls: all ranks, the node, a group.
#define ARMCI_DEFINE_GOP(Element, name, type)                                                      \
  ARMCI_DEFINE_LOWER(void, msg_##name, (Element * x, int n, char* op)) {                           \
    reduce_all("armci_msg_" #name, Receiver::everywhere, x, n, op, type);                          \
  }                                                                                                \
  ARMCI_DEFINE_LOWER(void, msg_clus_##name, (Element * x, int n, char* op)) {                      \
    reduce_in_world("armci_msg_clus_" #name, SCOPE_NODE, Receiver::everywhere, x, n, op, type);    \
  }                                                                                                \
  ARMCI_DEFINE_LOWER(void, msg_group_##name, (Element * x, int n, char* op, ARMCI_Group* group)) { \
    reduce_in_group("armci_msg_group_" #name, SCOPE_ALL, x, n, op, type, group);                   \
  }

ARMCI_DEFINE_GOP(int, igop, ARMCI_INT)
ARMCI_DEFINE_GOP(long, lgop, ARMCI_LONG)
ARMCI_DEFINE_GOP(long long, llgop, ARMCI_LONG_LONG)
ARMCI_DEFINE_GOP(float, fgop, ARMCI_FLOAT)
ARMCI_DEFINE_GOP(double, dgop, ARMCI_DOUBLE)

// Pointers are added as integers: all but their owner's entry are 0.
ARMCI_DEFINE_LOWER(void, exchange_address, (void** pointers, int n)) {
  static_assert(sizeof(void*) == sizeof(long));
  reduce_all("armci_exchange_address", Receiver::everywhere, pointers, n, "+", ARMCI_LONG);
}

ARMCI_DEFINE_LOWER(void, exchange_address_grp, (void** pointers, int n, ARMCI_Group* group)) {
  reduce_in_group("armci_exchange_address_grp", SCOPE_ALL, pointers, n, "+", ARMCI_LONG, group);
}
