// Creation and end of windows: which are taken, and which pass to the host. All members decide the same.
//
//   intercommunicator, a rank of another world, arguments that MPI refuses   the host's, without an exchange
//   info grapnel=off in some member; the host refuses a carrier              an objection of that member
//   members on several nodes (allocate_shared); memory out of reach          decided by the window service
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/mpi/calls.hpp"
#include "api/mpi/creation_turn.hpp"
#include "api/mpi/errors.hpp"
#include "api/mpi/group_ranks.hpp"
#include "api/mpi/hints.hpp"
#include "api/mpi/job.hpp"

namespace grapnel::front {
namespace {

using window::Options;
using window::Windows;

struct Creation {
  const char* call;
  MPI_Comm comm;
  MPI_Info info;
  Decision decision;  ///< of a window that is taken
  int flavor;
};

/// The members' ranks in the job, in the communicator's order. Empty: not all are of this world.
std::vector<Rank> job_ranks(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  const std::vector<int> ranks = ranks_in(the_job->world, group);
  PMPI_Group_free(&group);
  std::vector<Rank> found;
  for (const int rank : ranks) {
    if (rank == MPI_UNDEFINED) return {};
    found.push_back(Rank{rank});
  }
  return found;
}

bool is_first(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == 0;
}

void count(MPI_Comm comm, Decision decision) {
  if (is_first(comm)) the_job->statistics.count(decision);
}

// A member's objection to a taken window is this or an error code of the host; the largest of all members decides.
constexpr std::uint32_t kKeptByInfo = UINT32_MAX;

Options options_of(const Hints& hints) {
  Options options;
  options.lock_kind = lock_kind(hints);
  options.lock_domain = lock_domain(hints);
  options.no_locks = is_true(hints, "no_locks");
  options.contiguous = !is_true(hints, "alloc_shared_noncontig");
  options.same_unit = is_true(hints, "same_disp_unit");
  options.many_threads = the_job->many_threads;
  return options;
}

int keep(const Creation& what, std::unique_ptr<Taken> taken, std::shared_ptr<window::Window> window, MPI_Win* win) {
  const int me = window->my_place();
  PMPI_Comm_group(what.comm, &taken->group);
  taken->base = window->base_of(me);
  taken->bytes = static_cast<MPI_Aint>(window->bytes_of(me));
  taken->unit = static_cast<int>(window->unit_of(me));
  taken->flavor = what.flavor;
  taken->window = std::move(window);
  *win = taken->handle;
  the_job->handles.add(std::move(taken));
  count(what.comm, what.decision);
  return MPI_SUCCESS;
}

void drop(Taken& taken) {
  if (taken.handle != MPI_WIN_NULL) host().Win_free(&taken.handle);
  if (taken.meeting != MPI_COMM_NULL) PMPI_Comm_free(&taken.meeting);
}

/// The program's hints, and a carrier; `refused`: the host's error where it makes no carrier.
std::unique_ptr<Taken> begin_taking(const Creation& what, int& refused) {
  auto taken = std::make_unique<Taken>();
  taken->info = default_hints(what.flavor == MPI_WIN_FLAVOR_SHARED);
  add_hints(taken->info, what.info);
  refused = make_carrier(the_job->self, &taken->handle);
  if (refused != MPI_SUCCESS) taken->handle = MPI_WIN_NULL;
  return taken;
}

/// After an objection, or where the service makes no window: an error where the host makes none either, else none.
std::optional<int> pass_on(const Creation& what, std::uint32_t objection) {
  if (objection != 0 && objection != kKeptByInfo) {
    return raise(what.comm, what.call, static_cast<int>(objection), "the host MPI makes no more windows");
  }
  Decision why = Decision::memory_out_of_reach;
  if (what.flavor == MPI_WIN_FLAVOR_SHARED) why = Decision::several_nodes;
  if (objection == kKeptByInfo) why = Decision::kept_by_info;
  count(what.comm, why);
  return std::nullopt;
}

/// `make(places, options)` calls the window service. None: the window passes to the host.
template <typename Make>
std::optional<int> take(const Creation& what, std::span<const Rank> places, MPI_Win* win, const Make& make) {
  int refused = MPI_SUCCESS;
  auto taken = begin_taking(what, refused);
  const auto asked = taken->info.find("grapnel");
  const bool is_kept = asked != taken->info.end() && asked->second == "off";
  std::uint32_t objection = is_kept ? kKeptByInfo : static_cast<std::uint32_t>(refused);
  taken->info.erase("grapnel");
  Options options = options_of(taken->info);
  options.objection = &objection;
  if (the_job->many_threads) {
    // A fence in one of several threads may not enter the core's barrier: it uses the host's, on a communicator of the
    // window's own.
    PMPI_Comm_dup(what.comm, &taken->meeting);
    options.meet = [comm = taken->meeting] { return host_barrier(comm); };
  }
  const CreationTurn turn(what.comm);
  const MpiCall scope(what.call);
  auto made = make(places, options);
  if (made.ok()) return keep(what, std::move(taken), *std::move(made), win);
  drop(*taken);
  if (made.status().code() == Code::unavailable) return pass_on(what, objection);
  const window::Outcome outcome(made.status());
  return raise(what.comm, what.call, outcome);
}

/// Takes the window, or calls `pass()` for the host's.
template <typename Make, typename Pass>
int create(const Creation& what, MPI_Win* win, const Make& make, const Pass& pass) {
  if (the_job == nullptr || what.comm == MPI_COMM_NULL || win == nullptr) return pass();
  int inter = 0;
  PMPI_Comm_test_inter(what.comm, &inter);
  if (inter != 0) {
    count(what.comm, Decision::not_an_intracommunicator);
    return pass();
  }
  const std::vector<Rank> places = job_ranks(what.comm);
  if (places.empty()) {
    count(what.comm, Decision::rank_of_another_world);
    return pass();
  }
  const auto code = take(what, places, win, make);
  return code ? *code : pass();
}

/// A size and a unit that MPI refuses go to the host, which refuses them.
bool are_sound(MPI_Aint size, MPI_Aint unit) { return size >= 0 && unit > 0; }

/// Memory of the window's own, by `Windows::allocate` or `Windows::allocate_shared`.
using Allocate = Windows::Created (Windows::*)(std::span<const Rank>, std::size_t, std::int64_t, const Options&);

template <typename Pass>
int allocate_by(Allocate allocate, const Creation& what, MPI_Aint size, MPI_Aint unit, void* base, MPI_Win* win,
                const Pass& pass) {
  if (!are_sound(size, unit)) return pass();
  const auto make = [&](std::span<const Rank> places, const Options& options) {
    auto made = (the_job->windows->*allocate)(places, static_cast<std::size_t>(size), unit, options);
    if (made.ok()) *static_cast<void**>(base) = (*made)->base_of((*made)->my_place());
    return made;
  };
  return create(what, win, make, pass);
}

template <typename Pass>
int allocate(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win, const Pass& pass) {
  const Creation what{"MPI_Win_allocate", comm, info, Decision::allocated, MPI_WIN_FLAVOR_ALLOCATE};
  return allocate_by(&Windows::allocate, what, size, unit, base, win, pass);
}

template <typename Pass>
int allocate_shared(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win,
                    const Pass& pass) {
  const Creation what{"MPI_Win_allocate_shared", comm, info, Decision::shared, MPI_WIN_FLAVOR_SHARED};
  return allocate_by(&Windows::allocate_shared, what, size, unit, base, win, pass);
}

template <typename Pass>
int create_on_memory(void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win* win,
                     const Pass& pass) {
  if (!are_sound(size, unit)) return pass();
  const Creation what{"MPI_Win_create", comm, info, Decision::created, MPI_WIN_FLAVOR_CREATE};
  const auto make = [&](std::span<const Rank> places, const Options& options) {
    return the_job->windows->create(places, base, static_cast<std::size_t>(size), unit, options);
  };
  return create(what, win, make, pass);
}

}  // namespace

int Win_allocate(const Calls& next, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win) {
  return allocate(size, unit, info, comm, base, win,
                  [&] { return next.Win_allocate(size, unit, info, comm, base, win); });
}

int Win_allocate_shared(const Calls& next, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                        MPI_Win* win) {
  return allocate_shared(size, unit, info, comm, base, win,
                         [&] { return next.Win_allocate_shared(size, unit, info, comm, base, win); });
}

int Win_create(const Calls& next, void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create_on_memory(base, size, unit, info, comm, win,
                          [&] { return next.Win_create(base, size, unit, info, comm, win); });
}

int Win_create_dynamic(const Calls& next, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  const Creation what{"MPI_Win_create_dynamic", comm, info, Decision::dynamic, MPI_WIN_FLAVOR_DYNAMIC};
  const auto make = [](std::span<const Rank> places, const Options& options) {
    return the_job->windows->create_dynamic(places, options);
  };
  return create(what, win, make, [&] { return next.Win_create_dynamic(info, comm, win); });
}

#if MPI_VERSION >= 4
int Win_allocate_c(const Calls& next, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                   MPI_Win* win) {
  return allocate(size, unit, info, comm, base, win,
                  [&] { return next.Win_allocate_c(size, unit, info, comm, base, win); });
}

int Win_allocate_shared_c(const Calls& next, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                          MPI_Win* win) {
  return allocate_shared(size, unit, info, comm, base, win,
                         [&] { return next.Win_allocate_shared_c(size, unit, info, comm, base, win); });
}

int Win_create_c(const Calls& next, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                 MPI_Win* win) {
  return create_on_memory(base, size, unit, info, comm, win,
                          [&] { return next.Win_create_c(base, size, unit, info, comm, win); });
}
#endif

// The carrier first: the program's attribute callbacks may still use the window.
int Win_free(const Calls& next, MPI_Win* win) {
  Taken* const taken = win == nullptr ? nullptr : find(*win);
  if (taken == nullptr) return next.Win_free(win);
  const char* const call = "MPI_Win_free";
  if (auto outcome = taken->window->may_be_freed(); !outcome.ok()) return raise(*taken, call, outcome);
  MPI_Win carrier = taken->handle;
  if (const int code = host().Win_free(&carrier); code != MPI_SUCCESS) return code;
  const auto ended = the_job->handles.remove(taken);
  window::Outcome outcome;
  {
    const CreationTurn turn(ended->meeting);
    const MpiCall scope(call);
    outcome = the_job->windows->free(*ended->window);
  }
  PMPI_Group_free(&ended->group);
  if (ended->meeting != MPI_COMM_NULL) PMPI_Comm_free(&ended->meeting);
  *win = MPI_WIN_NULL;
  if (outcome.ok()) return MPI_SUCCESS;
  return raise(MPI_COMM_WORLD, call, outcome);
}

}  // namespace grapnel::front
