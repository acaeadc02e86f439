// One rank of the run tests: `probe check` examines everything that a launch promises; the other words make a rank
// behave in one way and wait there for what the test does to it.
//
//   check                       all of it; "probe ok" from every rank
//   start                       joins and leaves
//   nest PROGRAM ARGUMENTS…     joins; rank 0 starts the program and waits for it; exit code 5 where that one's is not
//                               0
//   descriptors                 "descriptors RANK COUNT SOCKETS NUMBER,NUMBER,…" of what it was started with, and start
//   stay sleep|compute|fence|health   "ready RANK PID", then that for ever (health: until it fails, then sleep)
//   exit RANK CODE              that rank exits after joining, without leaving the job; the others sleep
//   abort RANK CODE             that rank aborts the job; the others sleep
//   crowded MASK,MASK,…         as check, but rank i has used the addresses of the i-th mask's candidates for the pool
//                               before it joins; "pool RANK NUMBER" states which candidate was agreed on
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "launch/launch.hpp"
#include "launch/probe_parts.hpp"
#include "launch/settings.hpp"
#include "os/address_pool.hpp"

namespace {

using Pools = std::vector<std::unique_ptr<grapnel::os::AddressPool>>;

// Bit i of this rank's mask: something of the program lies in the i-th range that a job may agree on.
Pools crowd(const std::string& masks) {
  using grapnel::os::AddressPool;
  const char* rank = std::getenv("PMI_RANK");
  grapnel::probe::need(rank != nullptr, "PMI_RANK");
  std::istringstream list(masks);
  std::string mask;
  for (int i = 0; i <= std::atoi(rank); ++i) std::getline(list, mask, ',');
  Pools taken;
  const auto bases = AddressPool::candidate_bases();
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if ((std::atoi(mask.c_str()) >> i & 1) == 0) continue;
    auto pool = AddressPool::reserve(bases[i] + AddressPool::kShiftBytes, grapnel::os::kPoolGranuleBytes);
    grapnel::probe::need(pool.status(), "crowd");
    taken.push_back(*std::move(pool));
  }
  return taken;
}

void tell_descriptors() {
  int count = 0, sockets = 0;
  std::string numbers;
  for (int number = 0; number < 4096; ++number) {
    struct stat about {};
    if (::fstat(number, &about) != 0) continue;
    ++count;
    sockets += S_ISSOCK(about.st_mode) ? 1 : 0;
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", number);
  }
  const char* const rank = std::getenv("PMI_RANK");
  grapnel::probe::say_line(
      fmt::format("descriptors {} {} {} {}", rank != nullptr ? rank : "-", count, sockets, numbers));
}

// The answer is this rank's exit code.
int nest(grapnel::launch::Launch& launch, char** command) {
  grapnel::probe::need(launch.fence(), "fence");
  int status = 0;
  if (launch.rank() == grapnel::Rank{0}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execvp(command[0], command);
      ::_exit(127);
    }
    ::waitpid(child, &status, 0);
  }
  grapnel::probe::need(launch.fence(), "fence");
  return status == 0 ? 0 : 5;
}

void tell_pool(grapnel::launch::Launch& launch) {
  const auto bases = grapnel::os::AddressPool::candidate_bases();
  const auto found = std::find_if(bases.begin(), bases.end(), [base = launch.pool().base()](std::uintptr_t candidate) {
    return base - candidate < grapnel::os::AddressPool::kShiftBytes;
  });
  grapnel::probe::say_line(fmt::format("pool {} {}", grapnel::index(launch.rank()), found - bases.begin()));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace grapnel;
  const std::string word = argc > 1 ? argv[1] : "check";
  if (word == "descriptors") tell_descriptors();
  const Pools crowded = word == "crowded" && argc > 2 ? crowd(argv[2]) : Pools();
  const auto host = os::make_real_host();
  const auto config = base::Config::from_environment({&launch::Settings::group()});
  probe::need(config.status(), "configuration");
  auto joined = launch::join(*config, *host);
  probe::need(joined.status(), "join");
  launch::Launch& launch = **joined;
  if (word == "stay") probe::stay(launch, argc > 2 ? argv[2] : "sleep");
  if (word == "exit" || word == "abort") {
    probe::end_badly(launch, word == "abort", std::atoi(argv[2]), std::atoi(argv[3]));
  }
  if (word == "crowded") tell_pool(launch);
  const int exit_code = word == "nest" ? nest(launch, argv + 2) : 0;
  if (word != "start" && word != "descriptors" && word != "nest") probe::check(launch);
  probe::need(launch.finalize(), "finalize");
  return exit_code;
}
