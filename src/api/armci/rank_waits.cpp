// SPDX-License-Identifier: Apache-2.0
#include "api/armci/rank_waits.hpp"

#include "api/armci/errors.hpp"
#include "launch/group.hpp"

namespace grapnel::armci {

Status run_barrier(const char* call, Job& job, const Group& group) {
  const progress::WaitScope scope(call);
  const MpiBetweenSleeps between(job);
  return job.barriers->run(*group.known());
}

Status meet(const char* call, Job& job, const Group& group, Status& kept) {
  kept = run_barrier(call, job, group);
  if (kept.ok() || kept.code() == Code::refused) return {};
  if (kept.code() == Code::peer_dead) return kept;
  stop(call, kept);
}

Status wait_for_mutex(Job& job, int mutex, Rank home) {
  const progress::WaitScope scope("ARMCI_Lock");
  const MpiBetweenSleeps between(job);
  return job.locks->acquire(mutex, home, {}, nullptr);
}

Result<std::uint32_t> wait_for_notification(Job& job, Rank from) {
  const progress::WaitScope scope("armci_notify_wait");
  const MpiBetweenSleeps between(job);
  return job.notifications->wait(from);
}

}  // namespace grapnel::armci
