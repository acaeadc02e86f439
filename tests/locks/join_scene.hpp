// Readers and a started writer of one lock: what the tests of readers that join are made of (join_test.cpp, and
// duration_test.cpp over a slow network).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/access.hpp"
#include "harness/world.hpp"
#include "locks/exercise.hpp"
#include "locks/lock_set.hpp"
#include "sim/sim_world.hpp"

namespace grapnel::test {

inline constexpr locks::Ask kJoins{.shared = true, .joins_readers = true};

inline LockSet make_joined_set(Runtime& g, LockKind kind, int count = 1, std::size_t payload_bytes = 0) {
  LockOptions options;
  options.kind = kind;
  options.shared_mode = true;
  options.payload_bytes = payload_bytes;
  options.backoff_ns = 500;
  options.backoff_most_ns = 20 * base::kMicrosecond_ns;
  auto created = g.create_lock_set(count, options);
  EXPECT_OK(created.status());
  return created.ok() ? *created : LockSet();
}

/// Each rank has a part. The writer is started, so that its rank can do its part of the barriers. While a reader joins
/// it must look for its lock: no kind but reader_writer is joined before the writer has seen readers inside.
class JoinScene {
 public:
  JoinScene(Runtime& g, LockKind kind, Rank home, std::size_t payload_bytes = 0)
      : g_(g), home_(home), locks_(make_joined_set(g, kind, 1, payload_bytes)) {}
  ~JoinScene() { EXPECT_OK(g_.destroy_lock_set(locks_)); }

  locks::Set& set() { return *locks_.set(); }
  bool am(int rank) const { return static_cast<int>(index(g_.rank())) == rank; }
  void meet() { EXPECT_OK(g_.barrier()); }
  /// No rank is through before the writer has looked for the last time.
  void meet_while_the_writer_looks() {
    EXPECT_OK(g_.begin_barrier());
    for (bool over = false; !over;) {
      if (writer_ != nullptr) expect_to_wait();
      pass(100 * base::kMicrosecond_ns);
      const auto met = g_.test_barrier();
      ASSERT_OK(met.status());
      over = *met;
    }
    meet();
  }
  Status take(const locks::Ask& ask, Bytes* received = nullptr) { return set().acquire(0, home_, ask, received); }
  /// The writer's place may be under way still; then the lock is got and left again.
  void take_in_vain(locks::Ask ask) {
    ask.timeout_ns = base::kMillisecond_ns;
    Status taken = take(ask);
    for (; taken.ok() && !world_has_virtual_time(); taken = take(ask)) {
      leave(ask.shared);
      pass(100 * base::kMicrosecond_ns);
    }
    EXPECT_CODE(Code::timed_out, taken);
  }
  bool try_to(const locks::Ask& ask) {
    const auto tried = set().attempt(0, home_, ask, nullptr);
    EXPECT_OK(tried.status());
    return tried.ok() && *tried;
  }
  /// At the first try, where a message's time is known.
  void take_by_trying(const locks::Ask& ask) {
    bool there = try_to(ask);
    for (; !there && !world_has_virtual_time(); there = try_to(ask)) pass(100 * base::kMicrosecond_ns);
    EXPECT_TRUE(there);
  }
  void leave(bool shared, ByteView payload = {}) { EXPECT_OK(set().release(0, home_, shared, payload)); }

  void start_to_write() {
    auto started = set().start(0, home_, {});
    ASSERT_OK(started.status());
    writer_ = *started;
    for (int look = 0; look < 20; ++look) {
      expect_to_wait();
      pass(100 * base::kMicrosecond_ns);
    }
  }
  void expect_to_wait() {
    const auto there = set().test(*writer_, nullptr);
    EXPECT_TRUE(there.ok() && !*there);
  }
  void write() {
    EXPECT_OK(set().finish(*writer_, nullptr));
    writer_ = nullptr;
    leave(false);
  }

 private:
  void pass(std::uint64_t time_ns) { sim::pass_time(*g_.implementation().host, time_ns); }

  Runtime& g_;
  const Rank home_;
  LockSet locks_;
  std::shared_ptr<locks::Acquisition> writer_;
};

/// Rank 0 reads, the last one waits to write, 1 joins 0, and 0 leaves: the writer waits for 1, too.
inline void join_beside_a_reader(Runtime& g, LockKind kind, Rank home) {
  const int last = g.size() - 1;
  JoinScene scene(g, kind, home);
  if (scene.am(0)) EXPECT_OK(scene.take({.shared = true}));
  scene.meet();
  if (scene.am(last)) scene.start_to_write();
  scene.meet();
  if (scene.am(1)) {
    scene.take_in_vain({.shared = true});
    EXPECT_OK(scene.take(kJoins));
    scene.leave(true);
    scene.take_by_trying(kJoins);
  }
  scene.meet_while_the_writer_looks();
  if (scene.am(0)) scene.leave(true);
  scene.meet();
  if (scene.am(last)) scene.expect_to_wait();
  scene.meet();
  if (scene.am(1)) scene.leave(true);
  if (scene.am(last)) scene.write();
  scene.meet();
}

}  // namespace grapnel::test
