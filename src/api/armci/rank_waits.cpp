#include "api/armci/rank_waits.hpp"

#include "api/armci/errors.hpp"
#include "runtime/group_access.hpp"

namespace grapnel::armci {
namespace {

template <typename WaitWithin>
Status in_pieces(const Job& job, WaitWithin wait_within) {
  return mpi::wait_in_pieces(job.groups.world_comm(), wait_within);
}

}  // namespace

Status run_barrier(const char* call, Job& job, const Group& group) {
  const launch::Group* const members = GroupAccess::of(group);
  const progress::WaitScope scope(call, true);
  GRAPNEL_TRY(job.barriers->begin(*members));
  return in_pieces(job, [&](std::uint64_t ns) { return job.barriers->end_within(*members, ns); });
}

Status meet(const char* call, Job& job, const Group& group, Status& kept) {
  kept = run_barrier(call, job, group);
  if (kept.ok() || kept.code() == Code::refused) return {};
  if (kept.code() == Code::peer_dead) return kept;
  stop(call, kept);
}

Status wait_for_mutex(Job& job, int mutex, Rank home) {
  const progress::WaitScope scope("ARMCI_Lock", true);
  const auto started = job.locks->start(mutex, home, {});
  if (!started) return started.status();
  return in_pieces(job, [&](std::uint64_t ns) { return job.locks->finish_within(**started, ns); });
}

Result<std::uint32_t> wait_for_notification(Job& job, Rank from) {
  const progress::WaitScope scope("armci_notify_wait", true);
  const auto number = job.notifications->take(from);
  if (!number) return number.status();
  std::uint32_t come = 0;
  GRAPNEL_TRY(
      in_pieces(job, [&](std::uint64_t ns) { return job.notifications->wait_within(from, *number, ns, come); }));
  return come;
}

}  // namespace grapnel::armci
