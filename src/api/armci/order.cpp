// Fences, the barrier, notify.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"

using grapnel::Rank;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

/// Below 0 is an error, so counts begin anew at 0 after 2^31 − 1.
int as_count(std::uint32_t count) { return static_cast<int>(count & INT32_MAX); }

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(void, Fence, (int proc)) {
  must("ARMCI_Fence", [&](Job& job) { return job.runtime->fence(Rank{proc}); });
}

ARMCI_DEFINE(void, AllFence, (void)) {
  must("ARMCI_AllFence", [](Job& job) { return job.runtime->fence_all(); });
}

ARMCI_DEFINE(void, GroupFence, (ARMCI_Group * group)) {
  must("ARMCI_GroupFence", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find(group));
    std::vector<Rank> members;
    for (const int member : entry->members) members.push_back(Rank{member});
    return job.runtime->fence(members);
  });
}

ARMCI_DEFINE(void, Barrier, (void)) {
  must("ARMCI_Barrier", [](Job& job) { return run_barrier("ARMCI_Barrier", job, job.groups.world().core); });
}

ARMCI_DEFINE_LOWER(int, notify, (int proc)) {
  int sent = 0;
  const int failed = answer("armci_notify", [&](Job& job) -> Status {
    GRAPNEL_TRY(job.runtime->notify(Rank{proc}));
    sent = as_count(++job.notified[static_cast<std::size_t>(proc)]);
    return {};
  });
  return failed != 0 ? failed : sent;
}

ARMCI_DEFINE_LOWER(int, notify_wait, (int proc, int* count)) {
  int received = 0;
  const int failed = answer("armci_notify_wait", [&](Job& job) -> Status {
    GRAPNEL_ASSIGN_OR_RETURN(const auto seen, wait_for_notification(job, Rank{proc}));
    received = as_count(seen);
    const int awaited = as_count(++job.awaited[static_cast<std::size_t>(proc)]);
    if (count != nullptr) *count = awaited;
    return {};
  });
  return failed != 0 ? failed : received;
}
