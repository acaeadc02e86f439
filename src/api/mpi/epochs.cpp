// Epochs: locks, flushes, fence, post/start/complete/wait.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "api/mpi/calls.hpp"
#include "api/mpi/errors.hpp"
#include "api/mpi/group_ranks.hpp"
#include "api/mpi/job.hpp"

namespace grapnel::front {
namespace {

using window::Outcome;
using window::Window;

/// A call on the window, as `work(window)`.
template <typename Work>
int run(const Taken& taken, const char* call, const Work& work) {
  const MpiCall scope(call);
  return answer(taken, call, work(*taken.window));
}

/// The same for a target; nothing happens for MPI_PROC_NULL.
template <typename Work>
int run_at(const Taken& taken, const char* call, int rank, const Work& work) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  return run(taken, call, work);
}

int check_assertions(const Taken& taken, const char* call, int assertion, int allowed) {
  if ((assertion & ~allowed) == 0) return MPI_SUCCESS;
  return raise(taken, call, MPI_ERR_ASSERT, fmt::format("assert is {}, which this call does not take", assertion));
}

/// The places of a group's ranks in the window, valid where `code` is MPI_SUCCESS.
struct Places {
  int code = MPI_SUCCESS;
  std::vector<int> places;

  static Places of(const Taken& taken, const char* call, MPI_Group group);
};

Places Places::of(const Taken& taken, const char* call, MPI_Group group) {
  Places found;
  if (group == MPI_GROUP_NULL) {
    found.code = raise(taken, call, MPI_ERR_GROUP, "group is MPI_GROUP_NULL");
    return found;
  }
  found.places = ranks_in(taken.group, group);
  if (std::find(found.places.begin(), found.places.end(), MPI_UNDEFINED) != found.places.end()) {
    found.code = raise(taken, call, MPI_ERR_GROUP, "group has a rank that is not in the window's group");
  }
  return found;
}

}  // namespace

int Win_lock(const Calls& next, int type, int rank, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_lock(type, rank, assertion, win);
  const char* const call = "MPI_Win_lock";
  if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE) {
    return raise(*taken, call, MPI_ERR_LOCKTYPE,
                 fmt::format("lock_type is {}, neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE", type));
  }
  if (const int code = check_assertions(*taken, call, assertion, MPI_MODE_NOCHECK); code != MPI_SUCCESS) return code;
  return run_at(*taken, call, rank, [=](Window& window) {
    return window.lock(rank, type == MPI_LOCK_SHARED, (assertion & MPI_MODE_NOCHECK) != 0);
  });
}

int Win_unlock(const Calls& next, int rank, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_unlock(rank, win);
  return run_at(*taken, "MPI_Win_unlock", rank, [=](Window& window) { return window.unlock(rank); });
}

int Win_lock_all(const Calls& next, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_lock_all(assertion, win);
  const char* const call = "MPI_Win_lock_all";
  if (const int code = check_assertions(*taken, call, assertion, MPI_MODE_NOCHECK); code != MPI_SUCCESS) return code;
  return run(*taken, call, [=](Window& window) { return window.lock_all((assertion & MPI_MODE_NOCHECK) != 0); });
}

int Win_unlock_all(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_unlock_all(win);
  return run(*taken, "MPI_Win_unlock_all", [](Window& window) { return window.unlock_all(); });
}

int Win_flush(const Calls& next, int rank, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_flush(rank, win);
  return run_at(*taken, "MPI_Win_flush", rank, [=](Window& window) { return window.flush(rank); });
}

int Win_flush_all(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_flush_all(win);
  return run(*taken, "MPI_Win_flush_all", [](Window& window) { return window.flush_all(); });
}

int Win_flush_local(const Calls& next, int rank, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_flush_local(rank, win);
  return run_at(*taken, "MPI_Win_flush_local", rank, [=](Window& window) { return window.flush_local(rank); });
}

int Win_flush_local_all(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_flush_local_all(win);
  return run(*taken, "MPI_Win_flush_local_all", [](Window& window) { return window.flush_local_all(); });
}

int Win_sync(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_sync(win);
  return run(*taken, "MPI_Win_sync", [](Window& window) { return window.sync(); });
}

int Win_fence(const Calls& next, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_fence(assertion, win);
  const char* const call = "MPI_Win_fence";
  constexpr int kAllowed = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if (const int code = check_assertions(*taken, call, assertion, kAllowed); code != MPI_SUCCESS) return code;
  return run(*taken, call, [=](Window& window) {
    return window.fence({(assertion & MPI_MODE_NOPRECEDE) != 0, (assertion & MPI_MODE_NOSUCCEED) != 0});
  });
}

int Win_post(const Calls& next, MPI_Group group, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_post(group, assertion, win);
  const char* const call = "MPI_Win_post";
  constexpr int kAllowed = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
  if (const int code = check_assertions(*taken, call, assertion, kAllowed); code != MPI_SUCCESS) return code;
  const Places places = Places::of(*taken, call, group);
  if (places.code != MPI_SUCCESS) return places.code;
  return run(*taken, call, [&](Window& window) { return window.post(places.places); });
}

int Win_start(const Calls& next, MPI_Group group, int assertion, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_start(group, assertion, win);
  const char* const call = "MPI_Win_start";
  if (const int code = check_assertions(*taken, call, assertion, MPI_MODE_NOCHECK); code != MPI_SUCCESS) return code;
  const Places places = Places::of(*taken, call, group);
  if (places.code != MPI_SUCCESS) return places.code;
  return run(*taken, call,
             [&](Window& window) { return window.start(places.places, (assertion & MPI_MODE_NOCHECK) != 0); });
}

int Win_complete(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_complete(win);
  return run(*taken, "MPI_Win_complete", [](Window& window) { return window.complete(); });
}

int Win_wait(const Calls& next, MPI_Win win) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_wait(win);
  return run(*taken, "MPI_Win_wait", [](Window& window) { return window.wait(); });
}

int Win_test(const Calls& next, MPI_Win win, int* flag) {
  const Taken* const taken = find(win);
  if (taken == nullptr) return next.Win_test(win, flag);
  return run(*taken, "MPI_Win_test", [=](Window& window) {
    bool done = false;
    Outcome outcome = window.test_wait(done);
    *flag = done ? 1 : 0;
    return outcome;
  });
}

}  // namespace grapnel::front
