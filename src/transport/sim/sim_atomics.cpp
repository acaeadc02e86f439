// SPDX-License-Identifier: Apache-2.0
#include "transport/sim/sim_atomics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/sim/sim_native.hpp"

namespace grapnel::transport::sim {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// Sequentially consistent, as the processors of the target's node look at the word, too.
std::uint64_t execute_on(std::uint64_t* word, const Atomic& what) {
  switch (what.kind) {
    case Atomic::Kind::fetch_add: return __atomic_fetch_add(word, what.operand, __ATOMIC_SEQ_CST);
    case Atomic::Kind::swap: return __atomic_exchange_n(word, what.operand, __ATOMIC_SEQ_CST);
    case Atomic::Kind::compare_swap: break;
  }
  std::uint64_t found = what.expected;
  __atomic_compare_exchange_n(word, &found, what.operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return found;
}

}  // namespace

// ---- the adapters

void SimNetwork::post(std::shared_ptr<AdapterAtomic> atomic, std::uint64_t due_ns) {
  const base::MutexLock lock(adapters_mutex_);
  posted_.emplace(due_ns, std::move(atomic));
}

void SimNetwork::run_adapters(std::uint64_t now_ns) {
  const base::MutexLock lock(adapters_mutex_);
  while (!posted_.empty() && posted_.begin()->first <= now_ns) {
    const auto next = posted_.extract(posted_.begin());
    execute(*next.mapped(), next.key());
  }
}

void SimNetwork::execute(AdapterAtomic& atomic, std::uint64_t due_ns) {
  if (due_ns > atomic.connection->cut_at_ns.load(std::memory_order_acquire)) return;  // lost
  atomic.executed = with_region(atomic.region, atomic.address, kWordBytes, [&](std::byte* word) {
    atomic.old_value = execute_on(reinterpret_cast<std::uint64_t*>(word), atomic.what);
  });
}

// ---- one worker's

Result<Sent> AtomicQueue::start(Line& line, AdapterAtomic atomic, std::uint64_t* old_value, Completion completion,
                                std::uint64_t now_ns) {
  if (!network_.with_region(atomic.region, atomic.address, kWordBytes, [](std::byte*) {})) {
    return Status(Code::refused, fmt::format("native atomic at {:#x} of rank {}: outside the registered memory",
                                             atomic.address, index(line.target->rank)));
  }
  line.connection->atomics.fetch_add(1, std::memory_order_relaxed);
  auto posted = std::make_shared<AdapterAtomic>(atomic);
  const std::uint64_t due_ns = now_ns + native_travel_ns(network_.options(), random_);
  network_.post(posted, due_ns);
  const std::uint64_t answer_ns = due_ns + native_travel_ns(network_.options(), random_);
  pending_.push_back({&line, std::move(posted), old_value, completion, answer_ns});
  return Sent::pending;
}

bool AtomicQueue::progress(std::uint64_t now_ns) {
  bool any = false;
  // One at a time: a completion may start further ones.
  for (;;) {
    const auto due =
        std::find_if(pending_.begin(), pending_.end(), [&](const Pending& each) { return each.due_ns <= now_ns; });
    if (due == pending_.end()) return any;
    const Pending ended = std::move(*due);
    pending_.erase(due);
    any = true;
    network_.run_adapters(now_ns);  // a thread that looked before now may have left it
    Status outcome;
    if (ended.atomic->executed) {
      *ended.old_value = ended.atomic->old_value;
    } else {
      outcome = Status(Code::refused,
                       fmt::format("the memory at {:#x} was given back under a native atomic", ended.atomic->address));
    }
    if (ended.completion.notify != nullptr) ended.completion.notify(ended.completion.context, outcome);
  }
}

void AtomicQueue::fail(const Line& line, const Status& why) {
  std::vector<Completion> owed;
  std::erase_if(pending_, [&](const Pending& each) {
    if (each.line == &line && each.completion.notify != nullptr) owed.push_back(each.completion);
    return each.line == &line;
  });
  for (const Completion& completion : owed) completion.notify(completion.context, why);
}

std::uint64_t AtomicQueue::next_due_ns() const {
  std::uint64_t due_ns = kNever;
  for (const Pending& each : pending_) due_ns = std::min(due_ns, each.due_ns);
  return due_ns;
}

}  // namespace grapnel::transport::sim
