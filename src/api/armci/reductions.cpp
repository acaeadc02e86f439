// Global operations: a table of operation names, a table of element types, and the core's reductions.
//
// Before ARMCI_Init and after ARMCI_Finalize there is no core: MPI gathers what all ranks have, and each joins it in
// the order of ranks.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"
#include "api/armci/scopes.hpp"
#include "grapnel/reduction.hpp"
#include "launch/group.hpp"
#include "mpi/status.hpp"

using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

struct NamedOperation {
  std::string_view name;
  Operation operation;
  bool integers_only;
};

// The first whose name begins the caller's wins: Fortran hands names over without an end. So longer ones come first.
const std::array kOperations = {
    NamedOperation{"absmax", Operation::largest_absolute, false},
    NamedOperation{"absmin", Operation::least_absolute, false},
    NamedOperation{"land", Operation::logical_and, true},
    NamedOperation{"band", Operation::bit_and, true},
    NamedOperation{"max", Operation::maximum, false},
    NamedOperation{"min", Operation::minimum, false},
    NamedOperation{"lor", Operation::logical_or, true},
    NamedOperation{"bor", Operation::bit_or, true},
    NamedOperation{"&&", Operation::logical_and, true},
    NamedOperation{"||", Operation::logical_or, true},
    NamedOperation{"or", Operation::bit_or, true},
    NamedOperation{"+", Operation::sum, false},
    NamedOperation{"*", Operation::product, false},
    NamedOperation{"&", Operation::bit_and, true},
    NamedOperation{"|", Operation::bit_or, true},
};

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
  NumberType number;
  std::size_t bytes;
  bool integer;
  int (*compare)(const void* a, const void* b);
};

template <typename Element>
constexpr ElementKind kind(int type, NumberType number) {
  return {type, number, sizeof(Element), std::is_integral_v<Element>, compare<Element>};
}

static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8);
constexpr std::array kKinds = {kind<int>(ARMCI_INT, NumberType::int32), kind<long>(ARMCI_LONG, NumberType::int64),
                               kind<long long>(ARMCI_LONG_LONG, NumberType::int64),
                               kind<float>(ARMCI_FLOAT, NumberType::float32),
                               kind<double>(ARMCI_DOUBLE, NumberType::float64)};

Result<const ElementKind*> find_kind(int type) {
  for (const ElementKind& each : kKinds) {
    if (each.type == type) return &each;
  }
  return Status(Code::invalid_argument, fmt::format("type {} is none of ARMCI_INT, ARMCI_LONG, ARMCI_LONG_LONG, "
                                                    "ARMCI_FLOAT, ARMCI_DOUBLE",
                                                    type));
}

Result<Reduction> find_reduction(const char* op, const ElementKind& kind) {
  if (op == nullptr) return null_pointer("op");
  for (const NamedOperation& each : kOperations) {
    if (std::strncmp(op, each.name.data(), each.name.size()) != 0) continue;
    if (each.integers_only && !kind.integer) {
      return Status(Code::invalid_argument,
                    fmt::format("op \"{}\" is for integers, not for type {}", each.name, kind.type));
    }
    return reduction(each.operation, kind.number);
  }
  return Status(Code::invalid_argument, fmt::format("op \"{:.8}\" is unknown", op));
}

enum class Receiver { everywhere, first };

/// What a global operation was asked to do, checked.
struct GlobalOperation {
  Receiver receiver;
  Reduction reduction;
  std::byte* elements;
  std::size_t count;

  static Result<GlobalOperation> checked(Receiver receiver, void* x, int n, const char* op, int type) {
    if (n < 0) return negative("n", n);
    GRAPNEL_ASSIGN_OR_RETURN(const auto kind, find_kind(type));
    GRAPNEL_ASSIGN_OR_RETURN(const auto reduction, find_reduction(op, *kind));
    if (n > 0 && x == nullptr) return null_pointer("x");
    return GlobalOperation{receiver, reduction, static_cast<std::byte*>(x), static_cast<std::size_t>(n)};
  }
};

Status reduce(const char* call, Job& job, const Scope& ranks, const GlobalOperation& what) {
  if (what.count == 0 || ranks.core.size() == 0) return {};
  const launch::Group& members = *ranks.core.known();
  return run_collective(call, job, [&](collective::Collectives& collectives) {
    if (what.receiver == Receiver::everywhere) {
      return collectives.allreduce(members, what.reduction, what.elements, what.elements, what.count);
    }
    return collectives.reduce(members, what.reduction, what.elements, what.elements, what.count, ranks.first);
  });
}

/// The next elements of all, by rank, joined where the result is wanted. `gathered` has room for them.
Status join_gathered(MPI_Comm comm, const GlobalOperation& what, std::byte* elements, std::size_t count,
                     std::vector<std::byte>& gathered) {
  const std::size_t bytes = count * what.reduction.element_bytes;
  if (what.reduction.prepare != nullptr) what.reduction.prepare(elements, count);
  const int length = static_cast<int>(bytes);
  GRAPNEL_TRY(mpi::status_of(MPI_Allgather(elements, length, MPI_BYTE, gathered.data(), length, MPI_BYTE, comm)));
  int me = 0, ranks = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  if (what.receiver == Receiver::first && me != 0) return {};
  std::memcpy(elements, gathered.data(), bytes);
  for (int rank = 1; rank < ranks; ++rank) {
    what.reduction.join(elements, gathered.data() + static_cast<std::size_t>(rank) * bytes, count);
  }
  return {};
}

Status reduce_by_mpi(MPI_Comm comm, const GlobalOperation& what) {
  constexpr std::size_t kMostAtOnce = 8192;
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  std::vector<std::byte> gathered(std::min(what.count, kMostAtOnce) * what.reduction.element_bytes *
                                  static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < what.count; at += kMostAtOnce) {
    GRAPNEL_TRY(join_gathered(comm, what, what.elements + at * what.reduction.element_bytes,
                              std::min(what.count - at, kMostAtOnce), gathered));
  }
  return {};
}

Status reduce_in_scope(const char* call, Job& job, GroupEntry& group, int scope, Receiver receiver, void* x, int n,
                       const char* op, int type) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what, GlobalOperation::checked(receiver, x, n, op, type));
  GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of_scope(job, group, scope));
  return reduce(call, job, ranks, what);
}

void reduce_in_world(const char* call, int scope, Receiver receiver, void* x, int n, const char* op, int type) {
  must(call, [&](Job& job) { return reduce_in_scope(call, job, job.groups.world(), scope, receiver, x, n, op, type); });
}

/// Over all ranks; before ARMCI_Init too.
void reduce_all(const char* call, Receiver receiver, void* x, int n, const char* op, int type) {
  if (the_job != nullptr) return reduce_in_world(call, SCOPE_ALL, receiver, x, n, op, type);
  const MPI_Comm comm = world_comm(call);
  const auto what = GlobalOperation::checked(receiver, x, n, op, type);
  const Status done = what ? reduce_by_mpi(comm, *what) : what.status();
  if (!done.ok()) stop(call, done);
}

void reduce_in_group(const char* call, int scope, void* x, int n, const char* op, int type, ARMCI_Group* group) {
  must(call, [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group));
    return reduce_in_scope(call, job, *entry, scope, Receiver::everywhere, x, n, op, type);
  });
}

/// The n bytes of a rank, and whether they count.
struct Candidate {
  std::size_t bytes;
  bool least;
  const ElementKind* kind;

  static Result<Candidate> checked(const void* x, int n, const char* op, int type) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto kind, find_kind(type));
    if (n < static_cast<int>(kind->bytes)) {
      return Status(Code::invalid_argument, fmt::format("n is {}; the element alone takes {} bytes", n, kind->bytes));
    }
    if (x == nullptr) return null_pointer("x");
    const bool least = op != nullptr && std::strncmp(op, "min", 3) == 0;
    if (!least && (op == nullptr || std::strncmp(op, "max", 3) != 0)) {
      return Status(Code::invalid_argument,
                    fmt::format("op \"{:.8}\" is neither \"min\" nor \"max\"", op ? op : "NULL"));
    }
    return Candidate{static_cast<std::size_t>(n), least, kind};
  }

  /// A rank's part of what all gather.
  std::size_t stride() const { return bytes + 1; }
};

/// What all have is sent to all, by `gather(mine, all)`; each picks the same winner.
template <typename Gather>
Status select(const Candidate& what, void* x, bool contribute, int ranks, const Gather& gather) {
  std::vector<unsigned char> mine(what.stride()), all(what.stride() * static_cast<std::size_t>(ranks));
  mine[0] = contribute ? 1 : 0;
  std::memcpy(mine.data() + 1, x, what.bytes);
  GRAPNEL_TRY(gather(mine.data(), all.data()));
  const unsigned char* winner = nullptr;
  for (std::size_t at = 0; at < all.size(); at += what.stride()) {
    const unsigned char* const next = all.data() + at;
    if (next[0] == 0) continue;
    const int order = winner == nullptr ? -1 : what.kind->compare(next + 1, winner + 1) * (what.least ? 1 : -1);
    if (order < 0) winner = next;
  }
  if (winner != nullptr) std::memcpy(x, winner + 1, what.bytes);
  return {};
}

Status select_in_scope(const char* call, Job& job, int scope, void* x, int n, const char* op, int type,
                       bool contribute) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what, Candidate::checked(x, n, op, type));
  GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of_scope(job, job.groups.world(), scope));
  if (ranks.core.size() == 0) return {};
  return select(what, x, contribute, ranks.core.size(), [&](const void* mine, void* all) {
    return run_collective(call, job, [&](collective::Collectives& collectives) {
      return collectives.allgather(*ranks.core.known(), mine, all, what.stride());
    });
  });
}

Status select_by_mpi(MPI_Comm comm, void* x, int n, const char* op, int type, bool contribute) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what, Candidate::checked(x, n, op, type));
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return select(what, x, contribute, ranks, [&](const void* mine, void* all) {
    const int length = static_cast<int>(what.stride());
    return mpi::status_of(MPI_Allgather(mine, length, MPI_BYTE, all, length, MPI_BYTE, comm));
  });
}

void select_in_world(const char* call, int scope, void* x, int n, const char* op, int type, int contribute) {
  must(call, [&](Job& job) { return select_in_scope(call, job, scope, x, n, op, type, contribute != 0); });
}

/// Over all ranks; before ARMCI_Init too.
void select_all(const char* call, void* x, int n, const char* op, int type, int contribute) {
  if (the_job != nullptr) return select_in_world(call, SCOPE_ALL, x, n, op, type, contribute);
  const Status status = select_by_mpi(world_comm(call), x, n, op, type, contribute != 0);
  if (!status.ok()) stop(call, status);
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE_LOWER(void, msg_gop_scope, (int scope, void* x, int n, char* op, int type)) {
  if (scope == SCOPE_ALL) return reduce_all("armci_msg_gop_scope", Receiver::everywhere, x, n, op, type);
  reduce_in_world("armci_msg_gop_scope", scope, Receiver::everywhere, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_reduce, (void* x, int n, char* op, int type)) {
  reduce_all("armci_msg_reduce", Receiver::first, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_reduce_scope, (int scope, void* x, int n, char* op, int type)) {
  if (scope == SCOPE_ALL) return reduce_all("armci_msg_reduce_scope", Receiver::first, x, n, op, type);
  reduce_in_world("armci_msg_reduce_scope", scope, Receiver::first, x, n, op, type);
}

ARMCI_DEFINE_LOWER(void, msg_group_gop_scope, (int scope, void* x, int n, char* op, int type, ARMCI_Group* group)) {
  reduce_in_group("armci_msg_group_gop_scope", scope, x, n, op, type, group);
}

ARMCI_DEFINE_LOWER(void, msg_sel_scope, (int scope, void* x, int n, char* op, int type, int contribute)) {
  if (scope == SCOPE_ALL) return select_all("armci_msg_sel_scope", x, n, op, type, contribute);
  select_in_world("armci_msg_sel_scope", scope, x, n, op, type, contribute);
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
