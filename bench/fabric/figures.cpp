// Figures 1 to 6 of the paper mpi2-passive-one-sided-2004, section 6, by locks of this runtime over RDMA devices.
//
//   grapnel-bench-fabric KIND processor|network MILLISECONDS FIGURE:NUMBER...
//
//   overhead:1 delay:1             figures 1 and 2
//   concurrency:N contended:N      figures 3 and 4: N origins
//   computing:N                    figure 5: N threads that compute in the target's process
//   pairs:N                        figure 6: N pairs; the first half of the ranks are targets, the others origins
//
// Rank 0 is the target, the others are origins, but in `pairs`. The target's node has the first processor for itself,
// as it would on a machine of its own; pairs share the processors. Rank 0 prints a line for each step, `step
// FIGURE:NUMBER begin_ns=… end_ns=… acquisitions=… counted=… target_ns=… disturbed=…`, then `time FIGURE:NUMBER PART
// LOW MEDIAN HIGH`, in ns; `delay` prints a line `hand_over RELEASE_NS ACQUIRED_NS` for each hand-over that was waited
// for.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <thread>

#include "measured_job.hpp"

namespace grapnel::fabric {
namespace {

constexpr Rank kTarget{0};
constexpr int kHandOvers = 20;
constexpr int kMostAttempts = 2;
constexpr std::uint64_t kLeastAcquisitions = 20;
/// A hand-over: one origin holds the lock so long, in the middle of which the other one asks for it.
constexpr std::uint64_t kHeld_ns = 60'000'000, kTurn_ns = 2 * kHeld_ns;

struct Step {
  std::string figure;
  int number = 1;
  std::string name() const { return figure + ":" + std::to_string(number); }
};

struct Request {
  LockOptions options;
  std::uint64_t length_ns = 0;
  std::vector<Step> steps;
};

/// The part of this rank in a step.
struct Part {
  bool is_target = false, is_origin = false;
  int index = 0;
  Rank home{0};
};

Part part_of(const Runtime& g, const Step& step) {
  const int rank = static_cast<int>(g.rank());
  const bool is_pairs = step.figure == "pairs";
  const int first = is_pairs ? g.size() / 2 : 1;
  const int origins = step.figure == "computing" ? 1 : step.number;
  Part part;
  part.is_target = rank < first;
  part.is_origin = !part.is_target && rank < first + origins;
  if (step.figure == "concurrency") part.index = part.is_target ? 0 : rank - first;
  if (is_pairs && part.is_origin) part.home = Rank{rank - first};
  return part;
}

/// The processor time of `count` threads that computed in the span.
std::uint64_t compute_in_threads(int count, const Span& span) {
  std::vector<std::uint64_t> spent_ns(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (std::uint64_t& spent : spent_ns) {
    threads.emplace_back([&spent, &span] {
      sleep_until_ns(span.begin_ns);
      compute_until_ns(span.end_ns);
      timespec mine{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mine);
      spent = static_cast<std::uint64_t>(mine.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(mine.tv_nsec);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum_ns = 0;
  for (const std::uint64_t spent : spent_ns) sum_ns += spent;
  return sum_ns;
}

/// A target calls nothing of the runtime in the span.
Outcome be_target(const Span& span, int threads) {
  sleep_until_ns(span.begin_ns);
  const std::uint64_t before_ns = processor_ns();
  const std::uint64_t computed_ns = compute_in_threads(threads, span);
  sleep_until_ns(span.end_ns);
  Outcome outcome;
  outcome.processor_ns = processor_ns() - before_ns;
  outcome.processor_ns -= std::min(outcome.processor_ns, computed_ns);
  return outcome;
}

/// Of the origins the median of each quartile: one that had no processor for long does not count more than another.
void print_times(const Step& step, const char* part, const std::vector<Outcome>& origins, Quartiles Outcome::*which) {
  const auto middle_of = [&](std::uint64_t Quartiles::*quartile) {
    std::vector<std::uint64_t> values;
    for (const Outcome& origin : origins) values.push_back((origin.*which).*quartile);
    return static_cast<unsigned long long>(quartiles_of(std::move(values)).middle);
  };
  std::printf("time %s %s %llu %llu %llu\n", step.name().c_str(), part, middle_of(&Quartiles::low),
              middle_of(&Quartiles::middle), middle_of(&Quartiles::high));
}

/// Sums of the ranks, and the origins' times.
void print_step(const Step& step, const Span& span, const std::vector<Outcome>& all, bool is_disturbed) {
  Outcome sum;
  std::vector<Outcome> origins;
  sum.last_ns = span.end_ns;
  for (const Outcome& one : all) {
    sum.acquisitions += one.acquisitions;
    sum.counted += one.counted;
    sum.last_ns = std::max(sum.last_ns, one.last_ns);
    sum.processor_ns += one.processor_ns;  // 0 of origins
    if (one.acquisitions > 0) origins.push_back(one);
  }
  std::printf("step %s begin_ns=%llu end_ns=%llu acquisitions=%llu counted=%llu target_ns=%llu disturbed=%d\n",
              step.name().c_str(), static_cast<unsigned long long>(span.begin_ns),
              static_cast<unsigned long long>(sum.last_ns), static_cast<unsigned long long>(sum.acquisitions),
              static_cast<unsigned long long>(sum.counted), static_cast<unsigned long long>(sum.processor_ns),
              static_cast<int>(is_disturbed));
  print_times(step, "lock", origins, &Outcome::lock);
  print_times(step, "unlock", origins, &Outcome::unlock);
  print_times(step, "both", origins, &Outcome::both);
}

/// The first use of a lock, which connects, is before the span. Collective: the outcomes of all ranks.
std::vector<Outcome> run_span(Runtime& g, LockSet& set, const Step& step, const Part& part, const Span& span) {
  const bool agreed_late = now_ns() > span.begin_ns - kSilence_ns;
  const std::uint64_t counted = counted_by(set);
  Outcome mine;
  if (part.is_origin) mine = take_turns(set, part.index, part.home, span);
  if (part.is_target) mine = be_target(span, step.figure == "computing" ? step.number : 0);
  sleep_until_ns(span.end_ns + 2 * kSilence_ns);  // the last acquisitions of others began in time, and may be under way
  mine.counted = counted_by(set) - counted;
  mine.is_late = agreed_late || mine.last_ns > span.end_ns + kSilence_ns ? 1 : 0;
  return gather(g, mine);
}

bool is_disturbed(const std::vector<Outcome>& all) {
  std::uint64_t acquisitions = 0, late = 0;
  for (const Outcome& one : all) {
    acquisitions += one.acquisitions;
    late += one.is_late;
  }
  return late > 0 || acquisitions < kLeastAcquisitions;
}

/// Once more where a rank had no processor when it should have been silent, or few turns were taken.
void run_step(Runtime& g, LockSet& set, const Step& step, std::uint64_t length_ns) {
  const Part part = part_of(g, step);
  if (part.is_origin) {
    must(set.lock(part.index, part.home));
    must(set.unlock(part.index, part.home));
  }
  for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const Span span = agree_on_span(g, length_ns);
    const std::vector<Outcome> all = run_span(g, set, step, part, span);
    const bool again = is_disturbed(all);
    if (again && attempt < kMostAttempts) continue;
    if (g.rank() == kTarget) print_step(step, span, all, again);
    return;
  }
}

struct HandOvers {
  /// By turn: when the holder began to release; when the waiter asked, and when it had the lock. 0: not this rank.
  std::array<std::uint64_t, kHandOvers> released_ns{}, asked_ns{}, acquired_ns{};
};

bool hands_over(Rank rank) { return rank == Rank{1} || rank == Rank{2}; }

/// Ranks 1 and 2 hand the lock over, each other turn the other way round. Times alone say whose turn it is.
HandOvers hand_over(Runtime& g, LockSet& set, std::uint64_t begin_ns, int turns) {
  HandOvers mine;
  for (int turn = 0; turn < turns && hands_over(g.rank()); ++turn) {
    const auto place = static_cast<std::size_t>(turn);
    const std::uint64_t start_ns = begin_ns + place * kTurn_ns;
    const bool is_first = static_cast<int>(g.rank()) == 1 + turn % 2;
    sleep_until_ns(is_first ? start_ns : start_ns + kHeld_ns / 2);
    if (!is_first) mine.asked_ns[place] = now_ns();
    must(set.lock(0, kTarget));
    if (is_first) {
      sleep_until_ns(start_ns + kHeld_ns);
      mine.released_ns[place] = now_ns();
    } else {
      mine.acquired_ns[place] = now_ns();
    }
    must(set.unlock(0, kTarget));
  }
  return mine;
}

void print_hand_overs(const std::vector<HandOvers>& all, int turns) {
  for (int turn = 0; turn < turns; ++turn) {
    const auto place = static_cast<std::size_t>(turn);
    const HandOvers& first = all[static_cast<std::size_t>(1 + turn % 2)];
    const HandOvers& second = all[static_cast<std::size_t>(2 - turn % 2)];
    // A holder that got the lock late, or a waiter that asked behind the release, shows no hand-over.
    const bool is_sound =
        second.asked_ns[place] < first.released_ns[place] && first.released_ns[place] < second.acquired_ns[place];
    if (!is_sound) continue;
    std::printf("hand_over %llu %llu\n", static_cast<unsigned long long>(first.released_ns[place]),
                static_cast<unsigned long long>(second.acquired_ns[place]));
  }
}

void measure_delay(Runtime& g, LockSet& set, std::uint64_t length_ns) {
  const int turns = std::clamp<int>(static_cast<int>(length_ns / kTurn_ns), 1, kHandOvers);
  if (hands_over(g.rank())) {
    must(set.lock(0, kTarget));
    must(set.unlock(0, kTarget));
  }
  const Span span = agree_on_span(g, static_cast<std::uint64_t>(turns) * kTurn_ns);
  const HandOvers mine = hand_over(g, set, span.begin_ns, turns);
  sleep_until_ns(span.end_ns + 2 * kSilence_ns);
  const std::vector<HandOvers> all = gather(g, mine);
  if (g.rank() == kTarget) print_hand_overs(all, turns);
}

int measure(const Request& request) {
  auto started = Runtime::start();
  must(started.status());
  Runtime& g = **started;
  auto set = g.create_lock_set(g.size(), request.options);
  must(set.status());
  const bool is_apart =
      std::none_of(request.steps.begin(), request.steps.end(), [](const Step& step) { return step.figure == "pairs"; });
  if (is_apart) keep_threads_on(g.rank() == kTarget ? Processors::first : Processors::others);
  for (const Step& step : request.steps) {
    const int least = step.figure == "delay" ? 3 : 2;
    if (g.size() < least) must({Code::invalid_argument, step.name() + " needs " + std::to_string(least) + " ranks"});
    if (step.figure == "delay") {
      measure_delay(g, *set, 2 * request.length_ns);
    } else {
      run_step(g, *set, step, request.length_ns);
    }
  }
  must(g.destroy_lock_set(*set));
  must(g.finish());
  return 0;
}

/// Nothing: no such figure.
std::optional<Step> read_step(const std::string& word) {
  constexpr std::array<const char*, 6> kFigures{"overhead", "delay", "concurrency", "contended", "computing", "pairs"};
  const std::size_t colon = word.find(':');
  const std::string figure = word.substr(0, colon);
  if (colon == std::string::npos || std::find(kFigures.begin(), kFigures.end(), figure) == kFigures.end()) return {};
  return Step{figure, std::atoi(word.c_str() + colon + 1)};
}

LockOptions options_of(const std::string& kind, const std::string& domain) {
  LockOptions options;
  for (int number = 0; number <= static_cast<int>(LockKind::reader_writer); ++number) {
    if (kind == to_string(static_cast<LockKind>(number))) options.kind = static_cast<LockKind>(number);
  }
  options.domain = domain == "network" ? AtomicDomain::network : AtomicDomain::processor;
  return options;
}

}  // namespace
}  // namespace grapnel::fabric

int main(int argc, char** argv) {
  using namespace grapnel::fabric;
  Request request;
  for (int word = 4; word < argc; ++word) {
    const std::optional<Step> step = read_step(argv[word]);
    if (step) request.steps.push_back(*step);
  }
  if (argc < 5 || request.steps.size() != static_cast<std::size_t>(argc) - 4) {
    std::fprintf(stderr,
                 "usage: grapnel-bench-fabric KIND processor|network MILLISECONDS FIGURE:NUMBER..., where FIGURE "
                 "is overhead, delay, concurrency, contended, computing or pairs\n");
    return 2;
  }
  request.options = options_of(argv[1], argv[2]);
  request.length_ns = std::strtoull(argv[3], nullptr, 10) * 1'000'000;
  return measure(request);
}
