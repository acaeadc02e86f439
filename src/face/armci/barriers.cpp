#include "face/armci/barriers.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "runtime/group_access.hpp"
#include "sync/barrier.hpp"

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

}  // namespace

Status run_barrier(Job& job, const Group& group) {
  const launch::Group* const members = GroupAccess::of(group);
  GRAPNEL_TRY(job.barriers->begin(*members));
  std::uint64_t pause_ns = kFirstPause_ns;
  for (;;) {
    const auto over = job.barriers->end_within(*members, pause_ns);
    if (!over) return over.status();
    if (*over) return {};
    if (may_enter_mpi()) let_mpi_progress(job);
    pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
  }
}

}  // namespace grapnel::armci
