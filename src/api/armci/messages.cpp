// Point-to-point messages, by MPI; barriers and broadcasts, by the core; and the tree.
//
// Before ARMCI_Init and after ARMCI_Finalize there is no core, and MPI does what is allowed then. Only the calling
// thread enters MPI. What MPI itself reports ends the job, in the name of the call.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"
#include "api/armci/scopes.hpp"
#include "launch/group.hpp"
#include "mpi/status.hpp"

using grapnel::Code;
using grapnel::Result;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

void check_buffer(const char* call, int bytes, int rank, MPI_Comm comm) {
  if (bytes < 0) stop(call, negative("bytes", bytes));
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  if (rank < 0 || rank >= ranks) stop(call, bad_rank(rank, ranks));
}

/// From 0 to what MPI has as its largest.
void check_tag(const char* call, int tag) {
  const int* largest = nullptr;
  int found = 0;  // always: MPI has it as long as it runs
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
  if (tag >= 0 && tag <= *largest) return;
  stop(call, Status(Code::invalid_argument, fmt::format("tag is {}; 0..{} are possible", tag, *largest)));
}

void finish(const char* call, MPI_Request request, int bytes, MPI_Status* status) {
  const Status done = wait_for_mpi(request, bytes, status);
  if (!done.ok()) stop(call, done);
}

int receive(const char* call, int tag, void* buffer, int room, int* bytes, int from) {
  const MPI_Comm comm = world_comm(call);
  if (from != MPI_ANY_SOURCE) check_buffer(call, room, from, comm);
  if (room < 0) stop(call, negative("room", room));
  if (tag != MPI_ANY_TAG) check_tag(call, tag);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  must_mpi(call, MPI_Irecv(buffer, room, MPI_BYTE, from, tag, comm, &request));
  finish(call, request, room, &status);
  if (bytes != nullptr) MPI_Get_count(&status, MPI_BYTE, bytes);
  return status.MPI_SOURCE;
}

Status run_broadcast(const char* call, Job& job, const Group& ranks, void* buffer, int bytes, int root) {
  if (ranks.size() == 0) return {};  // the caller is none of them
  return run_collective(call, job, [&](collective::Collectives& collectives) {
    return collectives.broadcast(*ranks.known(), buffer, static_cast<std::size_t>(bytes), Rank{root});
  });
}

/// Among members of a group that are seldom together: the first of `places` has the data.
Status broadcast_once(const char* call, Job& job, const GroupEntry& group, const std::vector<int>& places, void* buffer,
                      int bytes) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, group_of(job, group, places));
  if (ranks.size() == 0) return {};
  GRAPNEL_TRY(run_broadcast(call, job, ranks, buffer, bytes, group.members[static_cast<std::size_t>(places.front())]));
  return job.runtime->release(ranks);
}

/// `root` is a rank of the group. One that is no master takes part beside the masters.
Status broadcast(const char* call, Job& job, GroupEntry& group, int scope, void* buffer, int bytes, int root) {
  if (bytes < 0) return negative("bytes", bytes);
  if (root < 0 || root >= group.size()) return bad_rank(root, group.size());
  GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of_scope(job, group, scope));
  const int from = group.members[static_cast<std::size_t>(root)];
  if (ranks.core.contains(Rank{from})) return run_broadcast(call, job, ranks.core, buffer, bytes, from);
  if (scope != SCOPE_MASTERS) {
    return {Code::invalid_argument, fmt::format("root {} takes no part in scope {}", root, scope)};
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto places, places_of_scope(job, group, scope));
  if (std::find(places.begin(), places.end(), root) != places.end()) return {};  // the caller is no master
  places.insert(places.begin(), root);
  return broadcast_once(call, job, group, places, buffer, bytes);
}

void broadcast_to_all(const char* call, void* buffer, int bytes, int root) {
  if (the_job == nullptr) {  // before ARMCI_Init, or after ARMCI_Finalize
    const MPI_Comm comm = world_comm(call);
    check_buffer(call, bytes, root, comm);
    must_mpi(call, MPI_Bcast(buffer, bytes, MPI_BYTE, root, comm));
    return;
  }
  must(call, [&](Job& job) { return broadcast(call, job, job.groups.world(), SCOPE_ALL, buffer, bytes, root); });
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE_LOWER(int, msg_me, (void)) {
  int me = 0;
  MPI_Comm_rank(world_comm("armci_msg_me"), &me);
  return me;
}

ARMCI_DEFINE_LOWER(int, msg_nproc, (void)) {
  int ranks = 0;
  MPI_Comm_size(world_comm("armci_msg_nproc"), &ranks);
  return ranks;
}

ARMCI_DEFINE_LOWER(void, msg_abort, (int code)) { stop_job(fmt::format("armci_msg_abort (code {})", code), code); }

ARMCI_DEFINE_LOWER(double, timer, (void)) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ARMCI_DEFINE_LOWER(void, msg_snd, (int tag, void* buffer, int bytes, int to)) {
  const MPI_Comm comm = world_comm("armci_msg_snd");
  check_buffer("armci_msg_snd", bytes, to, comm);
  check_tag("armci_msg_snd", tag);
  MPI_Request request = MPI_REQUEST_NULL;
  must_mpi("armci_msg_snd", MPI_Isend(buffer, bytes, MPI_BYTE, to, tag, comm, &request));
  finish("armci_msg_snd", request, bytes, MPI_STATUS_IGNORE);
}

ARMCI_DEFINE_LOWER(void, msg_rcv, (int tag, void* buffer, int room, int* bytes, int from)) {
  if (from == MPI_ANY_SOURCE) stop("armci_msg_rcv", negative("from", from));
  receive("armci_msg_rcv", tag, buffer, room, bytes, from);
}

ARMCI_DEFINE_LOWER(int, msg_rcvany, (int tag, void* buffer, int room, int* bytes)) {
  return receive("armci_msg_rcvany", tag, buffer, room, bytes, MPI_ANY_SOURCE);
}

ARMCI_DEFINE_LOWER(void, msg_barrier, (void)) {
  const MPI_Comm comm = world_comm("armci_msg_barrier");
  if (the_job == nullptr) {  // before ARMCI_Init, or after ARMCI_Finalize
    must_mpi("armci_msg_barrier", MPI_Barrier(comm));
    return;
  }
  must("armci_msg_barrier", [](Job& job) { return run_barrier("armci_msg_barrier", job, job.groups.world().core); });
}

ARMCI_DEFINE_LOWER(void, msg_group_barrier, (ARMCI_Group * group)) {
  must("armci_msg_group_barrier", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group));
    return run_barrier("armci_msg_group_barrier", job, entry->core);
  });
}

ARMCI_DEFINE_LOWER(void, msg_bcast, (void* buffer, int bytes, int root)) {
  broadcast_to_all("armci_msg_bcast", buffer, bytes, root);
}

ARMCI_DEFINE_LOWER(void, msg_brdcst, (void* buffer, int bytes, int root)) {
  broadcast_to_all("armci_msg_brdcst", buffer, bytes, root);
}

ARMCI_DEFINE_LOWER(void, msg_bcast_scope, (int scope, void* buffer, int bytes, int root)) {
  if (scope == SCOPE_ALL) return broadcast_to_all("armci_msg_bcast_scope", buffer, bytes, root);
  must("armci_msg_bcast_scope", [&](Job& job) {
    return broadcast("armci_msg_bcast_scope", job, job.groups.world(), scope, buffer, bytes, root);
  });
}

ARMCI_DEFINE_LOWER(void, msg_clus_brdcst, (void* buffer, int bytes)) {
  must("armci_msg_clus_brdcst", [&](Job& job) -> Status {
    if (bytes < 0) return negative("bytes", bytes);
    GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of_scope(job, job.groups.world(), SCOPE_NODE));
    return run_broadcast("armci_msg_clus_brdcst", job, ranks.core, buffer, bytes, static_cast<int>(ranks.first));
  });
}

ARMCI_DEFINE_LOWER(void, msg_group_bcast_scope, (int scope, void* buffer, int bytes, int root, ARMCI_Group* group)) {
  must("armci_msg_group_bcast_scope", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group));
    const std::vector<int>& members = entry->members;
    const auto found = std::find(members.begin(), members.end(), root);
    if (found == members.end()) return {Code::invalid_argument, fmt::format("root {} is no member of the group", root)};
    return broadcast("armci_msg_group_bcast_scope", job, *entry, scope, buffer, bytes,
                     static_cast<int>(found - members.begin()));
  });
}

ARMCI_DEFINE_LOWER(void, grp_clus_brdcst, (void* buffer, int bytes, int first, int count, ARMCI_Group* group)) {
  must("armci_grp_clus_brdcst", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group));
    if (bytes < 0) return negative("bytes", bytes);
    if (first < 0 || count < 1 || count > entry->size() - first) return bad_rank(first, entry->size());
    std::vector<int> places(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), first);
    return broadcast_once("armci_grp_clus_brdcst", job, *entry, places, buffer, bytes);
  });
}

ARMCI_DEFINE_LOWER(void, msg_bintree, (int scope, int* root, int* up, int* left, int* right)) {
  must("armci_msg_bintree", [&](Job& job) -> Status {
    if (root == nullptr || up == nullptr || left == nullptr || right == nullptr) return null_pointer("a result");
    GRAPNEL_ASSIGN_OR_RETURN(const auto places, places_of_scope(job, job.groups.world(), scope));
    *root = places.front();
    *up = *left = *right = -1;
    const auto found = std::find(places.begin(), places.end(), job.me);
    if (found == places.end()) return {};
    const auto mine = static_cast<std::size_t>(found - places.begin());
    const auto rank_at = [&](std::size_t at) { return at < places.size() ? places[at] : -1; };
    if (mine > 0) *up = rank_at((mine - 1) / 2);
    *left = rank_at(2 * mine + 1);
    *right = rank_at(2 * mine + 2);
    return {};
  });
}
