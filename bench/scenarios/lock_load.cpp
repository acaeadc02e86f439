// Concurrency, messages, and what the target's processor has left.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

#include "pairs.hpp"
#include "scenarios/lock_user.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kSettle_us = 2000;

struct Place {
  bool takes_part;
  int lock;
  Rank home;
};

// In a job of one node the home takes part as well: there the target is memory.
Place place_of(const Session& s, const LockWork& work) {
  const int me = static_cast<int>(index(s.g.rank()));
  const int first = work.layout == LockLayout::pairs ? s.g.size() / 2 : s.g.node_count() == 1 ? 0 : 1;
  const bool takes_part = me >= first && me < first + static_cast<int>(work.origins);
  if (work.layout == LockLayout::pairs) return {takes_part, 0, Rank{me - first}};
  return {takes_part, work.layout == LockLayout::many ? me : 0, Rank{0}};
}

struct Pace {
  std::uint64_t begin_ns, window_ns;
  std::uint64_t every_ns;  ///< 0: as fast as it can
  int batch;               ///< acquisitions between two looks at the clock
};

// The time counts from the common begin: who is late, because others had the processor, has done less.
LockNumbers acquire_and_release(LockUser user, const Place& place, const Pace& pace) {
  const std::uint64_t begin_ns = pace.begin_ns, end_ns = begin_ns + pace.window_ns;
  std::uint64_t now = begin_ns, done = 0;
  sleep_until_ns(begin_ns);
  do {
    if (pace.every_ns > 0) sleep_until_ns(std::min(begin_ns + done * pace.every_ns, end_ns));
    for (int i = 0; i < pace.batch; ++i) {
      user.acquire(place.lock, place.home);
      user.release(place.lock, place.home);
    }
    done += static_cast<std::uint64_t>(pace.batch);
    now = now_ns();
  } while (now < end_ns);
  const auto time_ns = static_cast<double>(now - begin_ns);
  const auto count = static_cast<double>(done);
  LockNumbers numbers{};
  numbers[kRate] = count / time_ns * 1e9;
  numbers[kAcquisitions] = count;
  numbers[kIteration] = time_ns / count;
  numbers[kOrigins] = 1;
  return numbers;
}

std::uint64_t thread_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// Threads that compute until they are told to stop.
class ComputingThreads {
 public:
  explicit ComputingThreads(std::uint64_t count) : used_ns_(count) {
    for (std::uint64_t i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(used_ns_[i]); });
  }
  void go() {
    busy_ns_ = processor_time_ns();
    state_.store(kGo, std::memory_order_release);  // pairs with the acquire in `run`
    state_.notify_all();
  }
  /// Of the processor time that this process had between `go` and their end, the part that was not theirs. What other
  /// programs take, on a machine that is not quiet, is not in it.
  double stop() {
    state_.store(kStop, std::memory_order_release);
    for (std::thread& thread : threads_) thread.join();
    const auto all_ns = static_cast<double>(processor_time_ns() - busy_ns_);
    double used_ns = 0;
    for (const std::uint64_t one_ns : used_ns_) used_ns += static_cast<double>(one_ns);
    return 1 - used_ns / all_ns;
  }

 private:
  enum State { kRest, kGo, kStop };
  void run(std::uint64_t& used_ns) {
    state_.wait(kRest, std::memory_order_acquire);
    const std::uint64_t begin_ns = thread_time_ns();
    while (state_.load(std::memory_order_acquire) == kGo) compute_until_ns(now_ns() + 20'000);
    used_ns = thread_time_ns() - begin_ns;
  }

  std::atomic<int> state_{kRest};
  std::uint64_t busy_ns_ = 0;
  std::vector<std::uint64_t> used_ns_;
  std::vector<std::thread> threads_;
};

LockNumbers be_the_target(const LockWork& work, std::uint64_t until_ns, ComputingThreads& threads) {
  const std::uint64_t busy_ns = processor_time_ns();
  sleep_until_ns(until_ns);
  LockNumbers numbers{};
  numbers[kTargetBusy_ns] = static_cast<double>(processor_time_ns() - busy_ns);
  if (work.origins > 0) numbers[kLost] = threads.stop();
  return numbers;
}

}  // namespace

LockNumbers measure_load(Session& s, const LockWork& work, LockUser user) {
  const Place place = place_of(s, work);
  if (place.takes_part) {  // the first use makes lines and connections
    user.acquire(place.lock, place.home);
    user.release(place.lock, place.home);
  }
  const bool in_the_node = s.g.node_count() == 1;
  const double before = in_the_node ? 0 : messages_so_far(s, user.set, kSettle_us);
  const std::uint64_t window_ns = work.window_us * 1000;
  const Pace pace{common_time_ns(s) + window_ns / 2, window_ns, 0, in_the_node ? 16 : 1};
  LockNumbers numbers = place.takes_part ? acquire_and_release(user, place, pace) : LockNumbers{};
  const double after = in_the_node ? 0 : messages_so_far(s, user.set, kSettle_us);
  if (index(s.g.rank()) == 0) numbers[kMessages] = after - before;
  return numbers;
}

// As tests/locks/count_test.cpp: three ranks, each a node of its own.
LockNumbers measure_counts(Session& s, LockUser user) {
  constexpr std::uint64_t kLong_us = 10'000;
  const std::size_t me = index(s.g.rank());
  const Rank home{0};
  const auto count = [&] { return messages_so_far(s, user.set, kLong_us); };
  if (me == 1) user.acquire(0, home);
  if (me == 1) user.release(0, home);
  const double before = count();
  if (me == 1) user.acquire(0, home);
  const double acquired = count();
  if (me == 1) user.release(0, home);
  const double released = count();

  LockRequest request;
  if (me == 1) user.acquire(0, home);
  must(s.g.barrier());
  if (me == 2) {
    auto started = user.set.start_lock(0, home);
    if (!started) fail(started.status());
    request = *started;
    for (int i = 0; i < 2; ++i) {  // the link to the one before is sent where it looks
      sleep_until_ns(now_ns() + kLong_us * 1000);
      const auto tested = user.set.test(request);
      if (!tested) fail(tested.status());
    }
  }
  const double queued = count();
  if (me == 1) user.release(0, home);
  const double handed_over = count();
  if (me == 2) must(user.set.wait(request));
  if (me == 2) user.release(0, home);
  if (me != 0) return {};
  return {acquired - before, released - acquired, handed_over - queued};
}

LockNumbers measure_computing(Session& s, const LockWork& work, LockUser user) {
  const std::size_t me = index(s.g.rank());
  const Rank home{0};
  if (me == 1) {
    user.acquire(0, home);
    user.release(0, home);
  }
  ComputingThreads threads(me == 0 ? work.origins : 0);
  must(s.g.barrier());
  if (me == 0) {
    threads.go();
    return be_the_target(work, now_ns() + work.window_us * 1000, threads);
  }
  const Pace pace{now_ns(), work.window_us * 1000, work.extra * 1000, 1};
  return acquire_and_release(user, {true, 0, home}, pace);
}

}  // namespace grapnel::bench
