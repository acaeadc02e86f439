// SPDX-License-Identifier: Apache-2.0
#include "progress/waiting.hpp"

#include <utility>

#include "os/identity.hpp"

namespace grapnel::progress {
namespace {

// How many of this node's threads may spin at once: its part of the machine's CPUs, by ranks.
std::uint32_t cpu_share_of_node(os::Host& host, const launch::Launch& launch) {
  const auto& nodes = launch.nodes();
  const std::size_t local = nodes.ranks_of[index(launch.node())].size();
  const std::size_t on_machine = nodes.ranks_on_machine_of(launch.node());
  const std::size_t cpus = host.processors();  // of the machine: launchers bind ranks to single cores
  return static_cast<std::uint32_t>(cpus * local / std::max<std::size_t>(on_machine, 1));
}

// A yield to no thread is a system call; to one that answers, two switches of threads and its work; to one that
// computes, a time slice, which kernels make 0.7 to 4 ms long.
constexpr std::uint64_t kNobody_ns = 1 * base::kMicrosecond_ns;
constexpr std::uint64_t kTimeSlice_ns = 500 * base::kMicrosecond_ns;

}  // namespace

void Waiting::CoreSharing::yielded(std::uint64_t from_ns, std::uint64_t to_ns, int cpu) {
  const std::uint64_t took_ns = to_ns - from_ns;
  const bool answers = took_ns >= kNobody_ns && took_ns < kTimeSlice_ns;
  const std::uint64_t every_ns = answers ? 0 : kYieldEvery_ns;
  if (yield_every_ns_.load(std::memory_order_relaxed) != every_ns) {
    yield_every_ns_.store(every_ns, std::memory_order_relaxed);
  }
  in_a_row_.store(answers ? in_a_row_.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
  if (took_ns >= kTimeSlice_ns) {
    computing_cpu_.store(cpu, std::memory_order_relaxed);
    no_yield_before_ns_.store(to_ns + 2 * took_ns, std::memory_order_relaxed);
  }
}

constinit thread_local BetweenSleeps* BetweenSleeps::current = nullptr;

std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node) {
  // The spinners, the ranks' processors, the bell's two words, and the counts of writes (write_counts.hpp).
  return 4 * base::kCacheLineBytes + nodes.ranks_of[index(node)].size() * sizeof(os::Word) +
         nodes.ranks_of[index(node)].size() * nodes.node_count() * sizeof(std::uint64_t);
}

Waiting::Waiting(os::Host& host, launch::Launch& launch, std::uint64_t spin_ns)
    : host_(host),
      launch_(launch),
      spinners_(launch.node_memory().carve<os::Word>(1).front()),
      cpu_share_(cpu_share_of_node(host, launch)),
      places_(launch.node_memory().carve<os::Word>(launch.nodes().ranks_of[index(launch.node())].size()),
              launch::places_in_nodes(launch.nodes())[index(launch.rank())]),
      patience_(spin_ns, 8 * spin_ns) {}

bool Waiting::advance_background() {
  Background* const work = background_.load(std::memory_order_acquire);  // pairs with `set_background`
  return work != nullptr && work->advance();
}

std::uint64_t Waiting::next_piece_ns(const BetweenSleeps* between, std::uint64_t& background_ns) const {
  const std::uint64_t piece_ns = between != nullptr ? between->piece_ns() : kLongestSleep_ns;
  if (!has_background()) return piece_ns;
  return std::min(piece_ns, std::exchange(background_ns, std::min(2 * background_ns, kLongestPiece_ns)));
}

// Its new place is known before it is there, so that no other rank of this processor moves for the same reason.
void Waiting::spread(std::uint64_t now_ns, int cpu) {
  if (!places_.may_look(now_ns)) return;
  const auto emptier = places_.emptier_than(cpu, os::cpus_allowed());
  if (!emptier) return;
  places_.note(*emptier);
  static_cast<void>(host_.move_to_cpu(*emptier));
  places_.moved(now_ns);
  neighbour_.forget();
}

Waiting::Spin::Spin(Waiting& waiting, CoreSharing& neighbour, const SpinBudget& patience, std::uint64_t until_ns)
    : waiting_(waiting),
      neighbour_(neighbour),
      // relaxed: only a count of how many spin; nothing is published by it.
      counted_(waiting.spinners_.fetch_add(1, std::memory_order_relaxed) < waiting.cpu_share_),
      length_ns_(patience.length_ns()),
      most_ns_(patience.most_ns()),
      yielded_ns_(waiting.host_.now_ns()),
      stepped_ns_(yielded_ns_),
      limit_ns_(std::min(yielded_ns_ + kLongestSleep_ns, until_ns)),
      end_ns_(std::min(yielded_ns_ + length_ns_, limit_ns_)) {
  if (!counted_) waiting.spinners_.fetch_sub(1, std::memory_order_relaxed);
}

Waiting::Spin::~Spin() {
  if (counted_) waiting_.spinners_.fetch_sub(1, std::memory_order_relaxed);
}

// A move may be one system call that copies a megabyte, and then the peer takes as long to copy it on: a rank that
// sleeps then adds its wake-up to the transfer.
void Waiting::Spin::restart() {
  const std::uint64_t now_ns = waiting_.host_.now_ns();
  const std::uint64_t spin_ns = std::clamp(now_ns - stepped_ns_, length_ns_, most_ns_);
  end_ns_ = std::min(now_ns + spin_ns, limit_ns_);
}

bool Waiting::Spin::step() {
  const std::uint64_t now_ns = waiting_.host_.now_ns();
  waiting_.looked_ns_.store(now_ns, std::memory_order_relaxed);
  if (now_ns >= end_ns_) return false;
  stepped_ns_ = now_ns;
  const int cpu = waiting_.host_.cpu();
  if (!counted_) {
    if (neighbour_.computes(now_ns, cpu)) return false;
    yield(now_ns, cpu);
    return neighbour_.answers();
  }
  if (neighbour_.wants_yield(yielded_ns_, now_ns, cpu)) {
    yield(now_ns, cpu);
  } else {
    waiting_.host_.relax();
  }
  return true;
}

void Waiting::Spin::yield(std::uint64_t now_ns, int cpu) {
  waiting_.host_.yield();
  yielded_ns_ = waiting_.host_.now_ns();
  neighbour_.yielded(now_ns, yielded_ns_, cpu);
  if (&neighbour_ != &waiting_.neighbour_) return;  // a server's
  waiting_.places_.note(cpu);
  if (neighbour_.answers_for_long()) waiting_.spread(yielded_ns_, cpu);
}

}  // namespace grapnel::progress
