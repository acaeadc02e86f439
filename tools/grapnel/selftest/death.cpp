// The planted death: a job of its own, of which the highest rank ends itself.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "output.hpp"
#include "selftest/checks.hpp"
#include "selftest/job_wide.hpp"
#include "selftest/lines.hpp"
#include "selftest/steps.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr double kStart_s = 20, kNotice_s = 15;
constexpr auto kBeforeDeath = std::chrono::milliseconds(200);

// Until a call answers that a rank is dead.
Status work_until_a_death(Runtime& runtime, const Memory& memory) {
  const int size = runtime.size(), me = static_cast<int>(index(runtime.rank()));
  for (int round = 1;; ++round) {
    const Rank target{(me + round) % size};
    std::int64_t value = me;
    GRAPNEL_TRY(runtime.put(&value, memory.on(target), sizeof value, target));
    GRAPNEL_TRY(runtime.get(memory.on(target), &value, sizeof value, target));
    GRAPNEL_TRY(runtime.fence(target));
  }
}

Status run_job(Steps& steps) {
  steps.begin("start of the job with a planted death", kStart_s);
  GRAPNEL_ASSIGN_OR_RETURN(const auto runtime, Runtime::start());
  const int me = static_cast<int>(index(runtime->rank())), victim = runtime->size() - 1;
  steps.know_rank(me, me == 0);
  GRAPNEL_ASSIGN_OR_RETURN(const Memory memory, runtime->allocate(kWordsBytes));
  GRAPNEL_TRY(runtime->barrier());
  if (me == 0) send_line(Line::Kind::dies, {std::to_string(victim)});
  if (me == victim) {
    std::this_thread::sleep_for(kBeforeDeath);
    ::raise(SIGKILL);
  }
  steps.begin("planted death", kNotice_s);
  const Status seen = work_until_a_death(*runtime, memory);
  complain("grapnel selftest", fmt::format("rank {}: a call answered {}", me, seen.to_string()));
  for (;;) ::pause();  // the job ends, by the launcher or by the rank that noticed the death
}

}  // namespace

int run_death(double stretch) {
  Steps steps(stretch);
  const Status failed = run_job(steps);
  complain("grapnel selftest", failed.to_string());
  return 1;
}

}  // namespace grapnel::tool::selftest
