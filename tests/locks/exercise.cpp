// SPDX-License-Identifier: Apache-2.0
#include "locks/exercise.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"
#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"
#include "locks/lock_set.hpp"

namespace grapnel::test {

using base::kMicrosecond_ns;
using locks::Acquisition;
using locks::Ask;

void Witness::complain(Runtime& g, const std::string& what) {
  {
    const std::lock_guard guard(mutex_);
    if (complaint_.empty()) complaint_ = what;
  }
  g.abort(1, what);
}

std::string Witness::complaint() const {
  const std::lock_guard guard(mutex_);
  return complaint_;
}

void Witness::enter(Runtime& g, bool shared, const Bytes* received) {
  const int writers = shared ? writers_.load() : writers_.fetch_add(1);
  const int readers = shared ? readers_.fetch_add(1) : readers_.load();
  if (writers != 0) complain(g, shared ? "a reader came in beside a writer" : "two writers are inside");
  if (!shared && readers != 0) complain(g, "a writer came in beside readers");
  const std::uint64_t expected = written_.load();
  const std::uint64_t got = received == nullptr ? expected : base::Decoder(*received).get<std::uint64_t>().value_or(0);
  if (expected != 0 && got != expected) {
    complain(g, fmt::format("the last release sent {}, what came was {}", expected, got));
  }
  ++acquisitions_;
  if (shared) most_readers_ = std::max(most_readers_.load(), static_cast<std::uint64_t>(readers) + 1);
}

Bytes Witness::leave(bool shared) {
  if (shared) {
    --readers_;
    return {};
  }
  const std::uint64_t next = written_.load() + 1;
  written_.store(next);
  --writers_;
  const ByteView bytes = base::bytes_of(next);
  return {bytes.begin(), bytes.end()};
}

namespace {

// One rank's use of the lock.
class User {
 public:
  User(Runtime& g, Witness& witness, const LockSet& locks, Rank home, std::uint64_t seed)
      : g_(g),
        host_(*g.implementation().host),
        witness_(witness),
        set_(*locks.set()),
        carries_(set_.options().payload_bytes != 0),
        home_(home),
        random_(base::Random(seed).next() ^ (index(g.rank()) << 32)) {}

  void use_once() {
    pass(20);
    const bool shared = set_.options().shared_mode && random_.chance(0.6);
    Bytes received;
    if (!take(shared, received)) return;
    witness_.enter(g_, shared, carries_ ? &received : nullptr);
    pass(shared ? 40 : 4);  // so long that a writer elsewhere finds readers inside
    release(shared);
  }

  void use_at_last() {
    Bytes received;
    witness_.must(g_, set_.acquire(0, home_, {}, &received));
    witness_.enter(g_, false, carries_ ? &received : nullptr);
    release(false);
  }
  std::uint64_t now_ns() const { return host_.now_ns(); }

 private:
  void pass(std::uint64_t most_us) {
    if (random_.chance(0.6)) sim::pass_time(host_, random_.below(most_us * kMicrosecond_ns));
  }

  void release(bool shared) {
    const Bytes payload = witness_.leave(shared);
    if (is_plain(shared)) {
      witness_.must(g_, set_.release(0, home_));
    } else {
      witness_.must(g_, set_.release(0, home_, shared, carries_ ? ByteView(payload) : ByteView()));
    }
  }
  // The calls without payloads, which take shorter ways.
  bool is_plain(bool shared) { return !carries_ && !shared && random_.chance(0.5); }

  bool take(bool shared, Bytes& received) {
    Ask ask;
    ask.shared = shared;
    ask.joins_readers = shared && random_.chance(0.3);
    const std::uint64_t dice = random_.below(100);
    if (dice < 15) {
      const auto tried = set_.attempt(0, home_, ask, &received);
      witness_.must(g_, tried.status());
      return tried.ok() && *tried;
    }
    if (dice < 45) {
      ask.timeout_ns = random_.below(60 * kMicrosecond_ns);
      const Status taken = set_.acquire(0, home_, ask, &received);
      if (taken.code() == Code::timed_out) return false;
      witness_.must(g_, taken);
      return taken.ok();
    }
    if (dice < 60) return start_and_finish(ask, received);
    if (dice < 70 && set_.acquire_at_once(0, home_, shared)) return true;
    const Status taken = is_plain(shared) ? set_.acquire(0, home_) : set_.acquire(0, home_, ask, &received);
    witness_.must(g_, taken);
    return taken.ok();
  }

  bool start_and_finish(const Ask& ask, Bytes& received) {
    const auto started = set_.start(0, home_, ask);
    witness_.must(g_, started.status());
    if (!started) return false;
    pass(10);
    if (random_.chance(0.7)) {
      const auto over = set_.test(**started, &received);
      witness_.must(g_, over.status());
      if (over.ok() && *over) return true;
    }
    const Status finished = set_.finish(**started, &received);
    witness_.must(g_, finished);
    return finished.ok();
  }

  Runtime& g_;
  os::Host& host_;
  Witness& witness_;
  locks::Set& set_;
  const bool carries_;  ///< payloads
  const Rank home_;
  base::Random random_;
};

}  // namespace

void exercise(Runtime& g, Witness& witness, const LockVariant& variant, std::uint64_t seed) {
  LockOptions options = variant.options();
  const bool has_shared = !variant.in_network() || variant.kind == LockKind::test_and_set;
  options.payload_bytes = !variant.in_network() && base::Random(~seed).chance(0.5) ? 16 : 0;
  options.shared_mode = has_shared && base::Random(seed).chance(0.5);
  options.local_passes = 2;
  options.backoff_ns = 500;
  options.backoff_most_ns = 20 * kMicrosecond_ns;
  // Of one seed in four without rank 0, which leads its node; in the network domain leaders are members.
  const int first = !variant.in_network() && base::Random(seed).chance(0.25) ? 1 : 0;
  if (static_cast<int>(index(g.rank())) < first) {
    for (int i = 0; i < 2; ++i) witness.must(g, g.barrier());
    return;
  }
  std::vector<Rank> members;
  for (int rank = first; rank < g.size(); ++rank) members.push_back(Rank{rank});
  const auto locks = g.create_lock_set(*g.make_group(members), 1, options);
  witness.must(g, locks.status());
  User user(g, witness, *locks, members[seed % members.size()], seed);
  const std::uint64_t begin_ns = user.now_ns();
  for (int round = 0; round < 5; ++round) user.use_once();
  witness.must(g, g.barrier());
  // A rank that gave up or came late has left nothing behind that would keep others out.
  user.use_at_last();
  witness.must(g, g.barrier());
  // All of it takes some milliseconds. A rank that sleeps looks again after 250, so a lost wake-up shows by the time
  // alone.
  if (user.now_ns() - begin_ns > 200 * base::kMillisecond_ns) witness.complain(g, "a waiter was not woken");
  witness.must(g, g.destroy_lock_set(*locks));
}

std::string exercise_in_sim(const LockVariant& variant, std::uint64_t seed) {
  constexpr Shape kShapes[] = {{3, 2}, {4, 2}, {3, 1}, {4, 3}, {2, 2}, {5, 2}};
  const Shape shape = kShapes[seed % std::size(kShapes)];
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(seed);
  options.machine.deadline_ns = 10 * base::kSecond_ns;
  base::Random random(seed);
  options.network.delay_ns = random.between(1, 10) * kMicrosecond_ns;
  options.network.jitter_ns = random.below(20) * kMicrosecond_ns;
  options.network.reorder_probability = random.chance(0.5) ? 0.1 : 0;
  options.network.pending_probability = random.chance(0.3) ? 0.2 : 0;
  options.network.stall_probability = random.chance(0.3) ? 0.05 : 0;
  options.machine.stall_probability = random.chance(0.3) ? 0.01 : 0;
  options.network.native_put = options.network.native_get = options.network.native_atomics = variant.in_network();
  Witness witness;
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto started = runtime::assemble(foundation_of(me));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    exercise(**started, witness, variant, seed);
    EXPECT_OK((*started)->finish());
  });
  if (!witness.complaint().empty()) return witness.complaint();
  return outcome.report;
}

}  // namespace grapnel::test
