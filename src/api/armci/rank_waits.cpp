#include "api/armci/rank_waits.hpp"

#include <algorithm>

#include "api/armci/errors.hpp"
#include "base/units.hpp"
#include "runtime/group_access.hpp"

namespace grapnel::armci {
namespace {

// What MPI keeps back is rare and soon gone, so the pauses grow; none is so long that the rest would never end.
constexpr std::uint64_t kFirstPause_ns = base::kMillisecond_ns;
constexpr std::uint64_t kLongestPause_ns = 16 * base::kMillisecond_ns;

/// Whether this thread may call MPI although its program called something else.
bool may_enter_mpi() {
  int level = MPI_THREAD_SINGLE, main_thread = 0;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) return true;
  MPI_Is_thread_main(&main_thread);
  return level != MPI_THREAD_SERIALIZED && main_thread != 0;
}

void let_mpi_progress(const Job& job) {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job.groups.world_comm(), &found, MPI_STATUS_IGNORE);
}

/// `wait_within(ns)` waits for so long at most and says whether it is over.
template <typename WaitWithin>
Status in_pieces(const Job& job, WaitWithin wait_within) {
  std::uint64_t pause_ns = kFirstPause_ns;
  for (;;) {
    const Result<bool> over = wait_within(pause_ns);
    if (!over) return over.status();
    if (*over) return {};
    if (may_enter_mpi()) let_mpi_progress(job);
    pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
  }
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
