// One rank of an MPI program that uses Grapnel over its communicator.
//
//   check                       the launch and the runtime, on the world and on parts of it, among other MPI traffic
//   stay HOW, exit R C, abort R C   as in probe.cpp
//   early                       joins before MPI_Init: prints why not
//   late                        joins after MPI_Finalize: prints why not
//   reversed                    MPI_Finalize before the runtime's end: prints its answer, and ends
//   beside first|after|last     joins by the launcher and not by MPI; MPI starts before, after, or when the job has
//   ended alone                       for a process that is one of several for its launcher, but not for its MPI
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "launch/probe_parts.hpp"
#include "launch/settings.hpp"
#include "mpi/join.hpp"
#include "runtime/assembly.hpp"

namespace {

using namespace grapnel;
using probe::need;

std::set<std::string> environment() {
  std::set<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace(*entry);
  return entries;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

// MPI's own collectives and messages, wrong if ours got among them.
void talk_mpi(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const int rank = rank_in(comm);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  need(sum == size * (size - 1) / 2, "MPI_Allreduce");
  int came = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &came, 1, MPI_INT, (rank + size - 1) % size, 7, comm,
               MPI_STATUS_IGNORE);
  need(came == (rank + size - 1) % size, "MPI_Sendrecv");
}

launch::Launch& joined_launch(MPI_Comm comm, os::Host& host) {
  const auto config = base::Config::from_environment({&launch::Settings::group()});
  need(config.status(), "configuration");
  auto joined = mpi::join(comm, *config, host);
  need(joined.status(), "join_mpi");
  return *joined->release();
}

Result<std::unique_ptr<Runtime>> runtime_over(MPI_Comm comm) {
  auto foundation = runtime::real_foundation(
      [comm](const base::Config& config, os::Host& host) { return mpi::join(comm, config, host); });
  if (!foundation) return foundation.status();
  return runtime::assemble(std::move(*foundation));
}

void check_launch(MPI_Comm comm, os::Host& host) {
  const std::unique_ptr<launch::Launch> launch(&joined_launch(comm, host));
  need(static_cast<int>(launch->rank()) == rank_in(comm), "the communicator's ranks");
  talk_mpi(comm);
  probe::check(*launch);
  need(launch->finalize(), "finalize");
}

// Every rank writes a word to the next, adds to rank 0's counter, and reads what the one before wrote.
void check_runtime(MPI_Comm comm) {
  auto started = runtime_over(comm);
  need(started.status(), "start");
  Runtime& runtime = **started;
  const int me = rank_in(comm);
  need(static_cast<int>(runtime.rank()) == me, "the communicator's ranks");
  auto memory = runtime.allocate(2 * sizeof(std::int64_t));
  need(memory.status(), "allocate");
  talk_mpi(comm);
  const auto next = static_cast<Rank>((me + 1) % runtime.size());
  const std::int64_t mine = 1000 + me;
  need(runtime.put(&mine, memory->on(next), sizeof mine, next), "put");
  for (int round = 0; round < 10; ++round) {
    const auto old =
        runtime.fetch_and_add(static_cast<std::int64_t*>(memory->on(Rank{0})) + 1, 1, Width::bits64, Rank{0});
    need(old.status(), "fetch_and_add");
  }
  need(runtime.barrier(), "barrier");
  talk_mpi(comm);
  std::int64_t got = 0;
  need(runtime.get(memory->on(runtime.rank()), &got, sizeof got, runtime.rank()), "get");
  need(got == 1000 + (me + runtime.size() - 1) % runtime.size(), "what the one before wrote");
  need(runtime.get(static_cast<std::int64_t*>(memory->on(Rank{0})) + 1, &got, sizeof got, Rank{0}), "get");
  need(got == 10 * runtime.size(), "every addition");
  need(runtime.barrier(), "barrier");
  need(runtime.free(*memory), "free");
  need(runtime.finish(), "finish");
}

void check_on(MPI_Comm comm, os::Host& host) {
  talk_mpi(comm);
  check_launch(comm, host);
  talk_mpi(comm);
  check_runtime(comm);
  talk_mpi(comm);
}

void check(os::Host& host) {
  const auto before = environment();
  check_on(MPI_COMM_WORLD, host);
  // The first rank alone, and the others in the opposite order.
  MPI_Comm part = MPI_COMM_NULL;
  const int me = rank_in(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : 1, -me, &part);
  check_on(part, host);
  MPI_Comm_free(&part);
  need(environment() == before, "no variable of the environment is touched");
  const auto none = mpi::join(MPI_COMM_NULL, base::Config(), host);
  need(none.status().code() == Code::invalid_argument, "MPI_COMM_NULL is refused");
  probe::say_line(fmt::format("mpi ok {}", me));
}

void reversed() {
  auto started = runtime_over(MPI_COMM_WORLD);
  need(started.status(), "start");
  MPI_Finalize();
  probe::say_line("finish: " + (*started)->finish().to_string());
}

void run_by_launcher(os::Host& host, bool mpi_in_between) {
  const auto config = base::Config::from_environment({&launch::Settings::group()});
  need(config.status(), "configuration");
  auto joined = launch::join(*config, host);
  need(joined.status(), "join");
  if (mpi_in_between) MPI_Init(nullptr, nullptr);
  probe::check(**joined);
  need((*joined)->finalize(), "finalize");
}

void beside(const std::string& when, os::Host& host) {
  if (when == "first") MPI_Init(nullptr, nullptr);
  run_by_launcher(host, when == "after");
  if (when == "last") MPI_Init(nullptr, nullptr);
  talk_mpi(MPI_COMM_WORLD);
  run_by_launcher(host, false);  // a second job of the same processes
  probe::say_line(fmt::format("mpi ok {}", rank_in(MPI_COMM_WORLD)));
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "check";
  const auto host = os::make_real_host();
  const auto try_to_join = [&] {
    const auto joined = mpi::join(MPI_COMM_WORLD, base::Config(), *host);
    probe::say_line("join: " + joined.status().to_string());
  };
  if (word == "early") {
    try_to_join();
    return 0;
  }
  if (word == "beside") {
    beside(argv[2], *host);
    return 0;
  }
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  if (word == "reversed") {
    reversed();
    return 0;
  }
  if (word == "stay") probe::stay(joined_launch(MPI_COMM_WORLD, *host), argv[2]);
  if (word == "exit" || word == "abort") {
    probe::end_badly(joined_launch(MPI_COMM_WORLD, *host), word == "abort", std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (word == "alone") try_to_join();
  if (word == "check") check(*host);
  MPI_Finalize();
  if (word == "late") try_to_join();
  return 0;
}
