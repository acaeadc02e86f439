// The wait policy's ways out.
// SPDX-License-Identifier: Apache-2.0
#include "progress/waiting.hpp"
#include "progress/settings.hpp"

#include "harness/access.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

// Something happens in it at every look, for long, but never what is waited for.
struct Restless {
  os::Host& host;
  long moves = 0;
  static constexpr long kMost = 1'000'000;

  bool progress() {
    host.relax();
    return ++moves < kMost;
  }
  void sleep(std::uint64_t timeout_ns) const {
    os::Word never{0};
    host.wait(never, 0, std::min<std::uint64_t>(timeout_ns, base::kMicrosecond_ns));
  }
};

// Its first move takes long, as a system call that sends a megabyte does.
struct SlowToMove {
  os::Host& host;
  std::uint64_t moved_ns = 0, slept_ns = 0;
  std::uint64_t move_ns = 0;  ///< less than kMove_ns where the wait below ended early, as any may
  static constexpr std::uint64_t kMove_ns = 100 * base::kMicrosecond_ns;

  bool progress() {
    if (moved_ns != 0) return false;
    os::Word never{0};
    const std::uint64_t from_ns = host.now_ns();
    host.wait(never, 0, kMove_ns);
    moved_ns = host.now_ns();
    move_ns = moved_ns - from_ns;
    return true;
  }
  void sleep(std::uint64_t) {
    if (slept_ns == 0) slept_ns = host.now_ns();
  }
};

WORLD_TEST_ON(Waiting, SpinsAfterALongMoveForAsLongAsItTook, (std::vector<Shape>{{1, 1}})) {
  progress::Waiting& waiting = *g.implementation().waiting;
  SlowToMove worker{waiting.host()};
  EXPECT_OK(waiting.on_worker(worker, [&] { return worker.slept_ns != 0; }));
  // On a busy machine the move takes longer than any spin.
  const std::uint64_t longest_ns = 8 * progress::Settings().spin_ns;
  EXPECT_GE(worker.slept_ns - worker.moved_ns, std::min(worker.move_ns, longest_ns));
}

WORLD_TEST_ON(Waiting, EndsInTimeWhereItsWorkerNeverRests, (std::vector<Shape>{{1, 1}, {2, 2}})) {
  progress::Waiting& waiting = *g.implementation().waiting;
  Restless worker{waiting.host()};
  const std::uint64_t until_ns = waiting.host().now_ns() + base::kMillisecond_ns;
  EXPECT_CODE(Code::timed_out, waiting.on_worker(
                                   worker, [] { return false; }, until_ns));
  EXPECT_LT(worker.moves, Restless::kMost) << "the worker's rest ended the wait, not the time";
  EXPECT_GE(waiting.host().now_ns(), until_ns);
}

}  // namespace
}  // namespace grapnel::test
