// Would the tests notice if the server counted a request before it is applied? A mutant that does must fail within 50
// seeds.
//
// The mutant sits in the transport: it adds one to the `handled` of every reply, as a server would that counts early. A
// fence then takes a put for complete that is still under way.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "harness/wrapped_transport.hpp"
#include "progress/message.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {
namespace {

// A worker that hands everything on, with the counts of its replies changed.
class CountingEarly final : public PassingWorker {
 public:
  using PassingWorker::PassingWorker;

  Result<transport::Sent> reply(transport::ReplyPath to, ByteView header, ByteView payload,
                                transport::Completion completion) override {
    Bytes changed(header.begin(), header.end());
    progress::ReplyHeader front;
    std::memcpy(&front, changed.data(), sizeof front);
    ++front.handled;
    std::memcpy(changed.data(), &front, sizeof front);
    return worker_->reply(to, changed, payload, completion);
  }
};

// Counts the rounds in which a fenced put was not there after the barrier.
void puts_seen_after_barrier(Runtime& g, std::atomic<int>& missed) {
  const auto memory = g.allocate(64 * 8);
  ASSERT_TRUE(memory.ok());
  const Rank far{static_cast<int>((index(g.rank()) + 2) % static_cast<std::size_t>(g.size()))};
  for (std::uint64_t round = 1; round <= 10; ++round) {
    std::uint64_t before = 0;
    EXPECT_OK(g.get(memory->on(far), &before, sizeof before, far));
    EXPECT_OK(g.put(&round, static_cast<std::uint64_t*>(memory->on(far)) + index(g.rank()), 8, far));
    EXPECT_OK(g.barrier());
    const auto from = (index(g.rank()) + 2) % static_cast<std::size_t>(g.size());
    if (static_cast<std::uint64_t*>(memory->local())[from] < round) ++missed;
    EXPECT_OK(g.barrier());
  }
  EXPECT_OK(g.free(*memory));
}

int missed_with(std::uint64_t seed, bool mutant) {
  sim::WorldOptions options{.ranks = 4, .nodes = 2};
  options.seed(seed);
  options.network.jitter_ns = 20 * base::kMicrosecond_ns;
  options.network.stall_probability = 0.05;
  std::atomic<int> missed{0};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    if (mutant) {
      foundation.make_transport = [&me](const base::Config&, const launch::Launch&) {
        return Result<std::shared_ptr<transport::Transport>>(std::make_shared<WrappedTransport>(
            me.transport, [](auto worker) { return std::make_unique<CountingEarly>(std::move(worker)); }));
      };
    }
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    puts_seen_after_barrier(**started, missed);
    EXPECT_OK((*started)->finish());
  });
  // The client looks, too: more than it has sent ends the job.
  const bool told = outcome.report.find("what no program of this version does") != std::string::npos;
  EXPECT_TRUE(outcome.ok() || (mutant && told)) << outcome.report;
  return missed + (told ? 1 : 0);
}

TEST(CountingMutant, IsFoundWithinFiftySeeds) {
  int failing_seeds = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) failing_seeds += missed_with(seed, true) > 0;
  EXPECT_GT(failing_seeds, 0);
  RecordProperty("failing_seeds", failing_seeds);
}

TEST(CountingMutant, TheRealOneIsRight) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(missed_with(seed, false), 0) << "seed " << seed;
}

}  // namespace
}  // namespace grapnel::test
