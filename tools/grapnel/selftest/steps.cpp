// SPDX-License-Identifier: Apache-2.0
#include "selftest/steps.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "os/clock.hpp"
#include "output.hpp"
#include "selftest/host_name.hpp"
#include "selftest/lines.hpp"
#include "status.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr int kGaveUp = 3;
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
// Rank 0 ends the job, and by then the other machines have printed what they wait for.
constexpr double kRankZeroLater_s = 1.0, kOthersLater_s = 3.0;

std::uint64_t in_ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

Steps::Steps(double stretch) : stretch_(stretch), watcher_([this] { watch(); }) {}

Steps::~Steps() {
  ends_.store(true);
  watcher_.join();
}

void Steps::know_rank(int rank, bool leads_machine) {
  leads_machine_.store(leads_machine);
  rank_.store(rank);
}

void Steps::begin(const std::string& name, double limit_s) {
  deadline_ns_.store(0);
  name_.store(&names_.emplace_back(name));
  limit_s_.store(limit_s * stretch_);
  if (rank_.load() == 0) send_line(Line::Kind::step, {name});
  deadline_ns_.store(os::monotonic_ns() + in_ns(limit_s * stretch_));
}

void Steps::watch() {
  while (!ends_.load()) {
    std::this_thread::sleep_for(kBetweenLooks);
    const std::uint64_t deadline = deadline_ns_.load();
    if (deadline != 0 && os::monotonic_ns() > deadline) give_up(*name_.load());
  }
}

void Steps::give_up(const std::string& name) {
  const int rank = rank_.load();
  const std::string what =
      fmt::format("step `{}` was not over within {:.1f} s on host {}", name, limit_s_.load(), host_name());
  const bool prints = rank <= 0 || leads_machine_.load();
  const std::string waits = prints ? status_of_job(static_cast<int>(::getpid())) : "";
  if (prints) complain("grapnel selftest", fmt::format("{} (rank {}):\n{}", what, rank, waits));
  if (rank == 0) {
    send_row({.section = "job",
              .name = name,
              .where = "rank 0",
              .verdict = Verdict::wrong,
              .found = what + ": " + waits,
              .remedy = "look at the rank that does not wait, and at the host that did not answer; "
                        "docs/debugging.md has the words; GRAPNEL_LOG=info prints the choices of the start"});
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(rank == 0 ? kRankZeroLater_s : kOthersLater_s));
  ::_exit(kGaveUp);
}

}  // namespace grapnel::tool::selftest
