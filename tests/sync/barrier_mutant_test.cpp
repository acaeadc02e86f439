// Would the tests notice a barrier that does not wait for all writes? Mutants that leave one wait out must fail within
// 50 seeds, and the real barrier in none.
//
// They sit in the transport, where they change what a server sends or receives:
//   counts     the servers learn of no writes: exchange, direct and gather do not wait until they are applied
//   dirty      no rank learns that another's writes are not acknowledged: clean does not look again
//   answers    a server states that it has applied one request more than it has: few and serial leave a fence early
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "harness/wrapped_transport.hpp"
#include "progress/message.hpp"
#include "sync/barrier/messages.hpp"
#include "sync/settings.hpp"

namespace grapnel::test {
namespace {

using sync::BarrierKind;

constexpr int kNodesOfTwoLevels = 12;  // of a gather's tree

enum class Mutant { none, counts, dirty, answers };

class MutantWorker final : public PassingWorker {
 public:
  MutantWorker(std::unique_ptr<transport::Worker> worker, Mutant mutant)
      : PassingWorker(std::move(worker)), mutant_(mutant) {}

  Result<transport::Sent> send(transport::EndpointId to, ByteView header, ByteView payload,
                               transport::Completion completion) override {
    progress::RequestHeader front;
    std::memcpy(&front, header.data(), sizeof front);
    if (front.handler != sync::kBarrierHandler) return worker_->send(to, header, payload, completion);
    Bytes changed(header.begin(), header.end());
    sync::BarrierBody body;
    std::memcpy(&body, changed.data() + sizeof front, sizeof body);
    if (mutant_ == Mutant::dirty) body.small.dirty = body.large.dirty = 0;
    std::memcpy(changed.data() + sizeof front, &body, sizeof body);
    if (mutant_ != Mutant::counts || body.stage != sync::BarrierStage::counts) {
      return worker_->send(to, changed, payload, completion);
    }
    static const Bytes nothing(64 * sizeof(std::uint64_t));
    return worker_->send(to, changed, ByteView(nothing).first(payload.size()), completion);
  }

  Result<transport::Sent> reply(transport::ReplyPath to, ByteView header, ByteView payload,
                                transport::Completion completion) override {
    Bytes changed(header.begin(), header.end());
    progress::ReplyHeader front;
    std::memcpy(&front, changed.data(), sizeof front);
    front.handled += mutant_ == Mutant::answers;
    std::memcpy(changed.data(), &front, sizeof front);
    return worker_->reply(to, changed, payload, completion);
  }

 private:
  const Mutant mutant_;
};

// Some ranks write, not all: each must hear of the others' writes. The get before shows a server's count of requests
// that is one ahead.
void run_rounds(Runtime& g, std::atomic<int>& missed) {
  constexpr std::size_t kWords = 512;
  const auto memory = g.allocate(kWords * 8 * static_cast<std::size_t>(g.size()));
  ASSERT_TRUE(memory.ok());
  const auto add = g.add_combine([](Bytes& all, ByteView one) {
    std::uint64_t sum = 0, more = 0;
    std::memcpy(&sum, all.data(), sizeof sum);
    std::memcpy(&more, one.data(), sizeof more);
    sum += more;
    std::memcpy(all.data(), &sum, sizeof sum);
  });
  ASSERT_TRUE(add.ok());
  const std::uint64_t mine = std::uint64_t{1} << (4 * index(g.rank()));
  std::uint64_t everybody = 0;
  for (int rank = 0; rank < g.size(); ++rank) everybody += std::uint64_t{1} << (4 * rank);
  std::vector<std::uint64_t> words(kWords);
  const auto slot = [&](Rank owner, Rank writer) {
    return static_cast<std::uint64_t*>(memory->on(owner)) + kWords * index(writer);
  };
  for (std::uint64_t round = 1; round <= 8; ++round) {
    const auto writes = [&](Rank rank) { return (index(rank) + round) % 3 == 0; };
    const Rank far{(static_cast<int>(index(g.rank())) + 2) % g.size()};
    if (writes(g.rank())) {
      EXPECT_OK(g.get(slot(far, g.rank()), words.data(), 8, far));
      std::fill(words.begin(), words.end(), round);
      EXPECT_OK(g.put(words.data(), slot(far, g.rank()), kWords * 8, far));
    }
    EXPECT_OK(g.barrier());
    const Rank from{(static_cast<int>(index(g.rank())) + g.size() - 2) % g.size()};
    if (writes(from) && slot(g.rank(), from)[kWords - 1] < round) ++missed;
    const Result<Bytes> sum = g.barrier_with(*add, std::as_bytes(std::span(&mine, 1)));
    if (!sum.ok() || !std::ranges::equal(*sum, std::as_bytes(std::span(&everybody, 1)))) ++missed;
  }
  EXPECT_OK(g.free(*memory));
}

// Whether the seed shows it: a write that is missing, or ranks that no longer agree and wait for ever.
bool fails(std::uint64_t seed, BarrierKind kind, Mutant mutant, int nodes = 5) {
  sim::WorldOptions options{.ranks = nodes, .nodes = nodes};
  options.seed(seed);
  options.network.jitter_ns = 20 * base::kMicrosecond_ns;
  options.network.stall_probability = 0.05;
  std::atomic<int> missed{0};
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    foundation.config.change<sync::Settings>().barrier = kind;
    foundation.make_transport = [&me, mutant](const base::Config&, const launch::Launch&) {
      return Result<std::shared_ptr<transport::Transport>>(std::make_shared<WrappedTransport>(
          me.transport, [mutant](auto worker) { return std::make_unique<MutantWorker>(std::move(worker), mutant); }));
    };
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok());
    run_rounds(**started, missed);
    EXPECT_OK((*started)->finish());
  });
  if (mutant == Mutant::none) {
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
  return missed > 0 || !outcome.ok();
}

bool is_found(BarrierKind kind, Mutant mutant, int nodes = 5) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    if (fails(seed, kind, mutant, nodes)) return true;
  }
  return false;
}

TEST(BarrierMutant, CountsThatAreNotWaitedFor) {
  EXPECT_TRUE(is_found(BarrierKind::exchange, Mutant::counts));
  EXPECT_TRUE(is_found(BarrierKind::direct, Mutant::counts));
  EXPECT_TRUE(is_found(BarrierKind::gather, Mutant::counts));
  EXPECT_TRUE(is_found(BarrierKind::gather, Mutant::counts, kNodesOfTwoLevels));
}

TEST(BarrierMutant, DirtyNodesThatAreNotHeardOf) { EXPECT_TRUE(is_found(BarrierKind::clean, Mutant::dirty)); }

TEST(BarrierMutant, AnswersThatComeEarly) {
  EXPECT_TRUE(is_found(BarrierKind::few, Mutant::answers));
  EXPECT_TRUE(is_found(BarrierKind::serial, Mutant::answers));
}

TEST(BarrierMutant, TheRealOneIsRight) {
  for (const auto kind : {BarrierKind::automatic, BarrierKind::serial, BarrierKind::few, BarrierKind::clean,
                          BarrierKind::exchange, BarrierKind::direct, BarrierKind::gather}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_FALSE(fails(seed, kind, Mutant::none)) << "seed " << seed;
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_FALSE(fails(seed, BarrierKind::gather, Mutant::none, kNodesOfTwoLevels)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace grapnel::test
