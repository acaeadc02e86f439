#include "progress/waiting.hpp"

#include "os/identity.hpp"

namespace grapnel::progress {
namespace {

// How many of this node's threads may spin at once: its part of the machine's CPUs, by ranks. The last CPU of a share
// is never spun away where ranks outnumber CPUs: they sleep instead, so that whoever has work gets the core.
std::uint32_t cpu_share_of_node(const launch::Launch& launch) {
  const auto& nodes = launch.nodes();
  const std::size_t local = nodes.ranks_of[index(launch.node())].size();
  const std::size_t on_machine = nodes.ranks_on_machine_of(launch.node());
  const std::size_t cpus = os::cpus_online();  // of the machine: launchers bind ranks to single cores
  return static_cast<std::uint32_t>(cpus * local / std::max<std::size_t>(on_machine, 1));
}

}  // namespace

Waiting::Waiting(os::Host& host, launch::Launch& launch, std::uint64_t spin_ns)
    : host_(host),
      launch_(launch),
      spin_ns_(spin_ns),
      spinners_(launch.node_memory().carve<os::Word>(1).front()),
      cpu_share_(cpu_share_of_node(launch)) {}

Result<std::uint64_t> Waiting::sleep_until(std::uint64_t until_ns) {
  const std::uint64_t now_ns = host_.now_ns();
  if (now_ns >= until_ns) return Status(Code::timed_out, "the time that the caller gave has passed");
  return std::min(kLongestSleep_ns, until_ns - now_ns);
}

Waiting::Spin::Spin(Waiting& waiting, std::uint64_t until_ns) : waiting_(waiting), end_ns_(0) {
  // relaxed: only a count of how many spin; nothing is published by it.
  const std::uint32_t others = waiting.spinners_.fetch_add(1, std::memory_order_relaxed);
  counted_ = others < waiting.cpu_share_;
  if (counted_) {
    end_ns_ = std::min(waiting.host_.now_ns() + waiting.spin_ns_, until_ns);
  } else {
    waiting.spinners_.fetch_sub(1, std::memory_order_relaxed);
  }
}

Waiting::Spin::~Spin() {
  if (counted_) waiting_.spinners_.fetch_sub(1, std::memory_order_relaxed);
}

bool Waiting::Spin::step() {
  if (!counted_ || waiting_.host_.now_ns() >= end_ns_) return false;
  // Whoever is waited for may share this CPU: now and then it gets it.
  if (++steps_ % kStepsPerYield == 0) {
    waiting_.host_.yield();
  } else {
    waiting_.host_.relax();
  }
  return true;
}

}  // namespace grapnel::progress
