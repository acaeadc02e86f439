// Conditions: a rank waits until another one wakes it.
//
//   wait        enters the condition's queue, releases the lock, sleeps on a word of its node, acquires the lock
//   signal      takes the first rank out of the queue, and wakes it: by a message to its node's server, or directly in
//               its own node
//   broadcast   the same with all ranks of the queue
//
// The queue lies at the node that keeps the condition; ranks of other nodes ask its server. A rank is in the queue
// before it releases the lock, so a signal that follows under the lock finds it: no wake-up is lost. Its word is set
// before, and cleared by the one wake-up that follows its being taken out: none is spurious.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/codec.hpp"
#include "dsm/ask.hpp"
#include "dsm/heap.hpp"
#include "dsm/planted.hpp"

namespace grapnel::dsm {
namespace {

struct KeeperQuestion {
  std::size_t node = 0;
  std::size_t ranks = 0, locks = 0;  ///< of the heap
  ConditionBody asked;
  bool done = false, refused = false;
  ConditionQueues::Answer answer;

  ByteView body() const { return base::bytes_of(asked); }
  std::size_t reply_bytes() const {
    return (asked.wish == ConditionWish::take_all ? ranks : 1) * sizeof(std::uint32_t);
  }
  static void answered(void* context, const progress::Reply& reply) {
    auto& self = *static_cast<KeeperQuestion*>(context);
    self.done = true;
    self.refused = reply.code != progress::ReplyCode::answer || reply.body.size() != sizeof(ConditionReply) ||
                   reply.payload.size() % sizeof(std::uint32_t) != 0;
    if (self.refused) return;
    self.answer.other_lock = reply.body_as<ConditionReply>().other_lock;
    self.answer.ranks.resize(reply.payload.size() / sizeof(std::uint32_t));
    std::copy_n(reply.payload.data(), reply.payload.size(), reinterpret_cast<std::byte*>(self.answer.ranks.data()));
    self.refused = self.answer.other_lock > self.locks;
    for (const std::uint32_t rank : self.answer.ranks) self.refused |= rank >= self.ranks;
  }
};

}  // namespace

Status Heap::check_condition(int condition, int lock) const {
  GRAPNEL_TRY(check_lock(lock));
  if (condition < 0 || static_cast<std::size_t>(condition) >= memory_.condition_count()) {
    return Status(Code::invalid_argument, fmt::format("condition {} of the shared heap: it has the conditions 0..{}",
                                                      condition, memory_.condition_count() - 1));
  }
  if (parts_.locks->is_held(lock_index(lock), lock_home(lock))) return {};
  return Status(Code::invalid_argument,
                fmt::format("condition {} of the shared heap: rank {} does not hold lock {}; lock it first", condition,
                            index(core_.launch.rank()), lock));
}

Result<ConditionQueues::Answer> Heap::ask_other_keeper(std::size_t keeper, const ConditionBody& body) {
  auto question = std::make_unique<KeeperQuestion>();
  question->node = keeper;
  question->ranks = memory_.rank_count();
  question->locks = parts_.lock_count;
  question->asked = body;
  counts_.condition_messages.add(1);
  GRAPNEL_TRY(ask(*core_.client, handler(Call::condition), question));
  question->answer.refused = question->refused;
  return std::move(question->answer);
}

// The ranks that were taken out of the queue.
Result<std::vector<std::uint32_t>> Heap::ask_keeper(const ConditionBody& body) {
  const std::size_t keeper = memory_.keeper_of_condition(body.condition);
  std::optional<ConditionQueues::Answer> answer;
  if (keeper != me_) {
    GRAPNEL_ASSIGN_OR_RETURN(answer, ask_other_keeper(keeper, body));
  }
  while (!answer) {
    answer = queues_.try_do(body, static_cast<std::uint32_t>(core_.launch.rank()));
    if (answer) break;
    GRAPNEL_TRY(core_.launch.health());
    core_.host.yield();
  }
  if (answer->refused) disbelieve(fmt::format("node {} refuses a call on condition {}", keeper, body.condition));
  if (answer->other_lock == 0) return std::move(answer->ranks);
  return Status(Code::invalid_argument,
                fmt::format("condition {} of the shared heap with lock {}: ranks wait for it with lock {}; a condition "
                            "belongs to one lock at a time",
                            body.condition, body.lock, answer->other_lock - 1));
}

Status Heap::enter_queue(int condition, int lock) {
  os::Word& awaited = memory_.awaited(index(core_.launch.rank()));
  std::uint32_t none = 0;
  if (!awaited.compare_exchange_strong(none, static_cast<std::uint32_t>(condition) + 1, std::memory_order_relaxed)) {
    return Status(Code::invalid_argument, fmt::format("condition {} of the shared heap: another thread of rank {} "
                                                      "waits for condition {}; a rank waits for one at a time",
                                                      condition, index(core_.launch.rank()), none - 1));
  }
  const ConditionBody body{ConditionWish::enter, static_cast<std::uint32_t>(condition),
                           static_cast<std::uint32_t>(lock)};
  Status entered = ask_keeper(body).status();
  if (!entered.ok()) awaited.store(0, std::memory_order_relaxed);
  return entered;
}

Status Heap::sleep_until_woken(int condition, int lock) {
  return core_.waiting.on_word(
      memory_.awaited(index(core_.launch.rank())), [](std::uint32_t awaited) { return awaited == 0; },
      progress::Waiting::kForever, progress::Waiting::kLongestSleep_ns,
      [&] {
        return progress::WaitSubject{progress::WaitKind::condition,
                                     "SharedHeap::wait",
                                     {static_cast<std::uint64_t>(condition), static_cast<std::uint64_t>(lock)}};
      });
}

Status Heap::wait(int condition, int lock) {
  GRAPNEL_TRY(check_condition(condition, lock));
  counts_.condition_waits.add(1);
  if (planted(Bug::queued_after_release)) {
    GRAPNEL_TRY(unlock(lock));
    GRAPNEL_TRY(enter_queue(condition, lock));
  } else {
    GRAPNEL_TRY(enter_queue(condition, lock));
    GRAPNEL_TRY(unlock(lock));
  }
  GRAPNEL_TRY(sleep_until_woken(condition, lock));
  return this->lock(lock);
}

Status Heap::wake_waiters(int condition, int lock, bool all) {
  GRAPNEL_TRY(check_condition(condition, lock));
  const ConditionBody body{all ? ConditionWish::take_all : ConditionWish::take_first,
                           static_cast<std::uint32_t>(condition), static_cast<std::uint32_t>(lock)};
  GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ask_keeper(body));
  std::vector<NodeId> nodes;
  for (const std::uint32_t rank : ranks) {
    const WakeBody wake{rank, body.condition};
    const NodeId node = core_.launch.nodes().node_of[rank];
    if (index(node) == me_) {
      if (!wake_waiter(memory_, core_.host, wake)) {
        disbelieve(fmt::format("rank {} is in the queue of condition {} and does not wait", rank, condition));
      }
      continue;
    }
    progress::OutgoingRequest request;
    request.handler = handler(Call::wake);
    request.body = base::bytes_of(wake);
    counts_.condition_messages.add(1);
    const progress::Client::Guard guard(*core_.client);
    GRAPNEL_TRY(core_.client->send(node, request).status());
    nodes.push_back(node);
  }
  if (nodes.empty()) return {};
  // The caller may compute now: its messages have to leave first.
  const progress::Client::Guard guard(*core_.client);
  return core_.client->drain(nodes);
}

}  // namespace grapnel::dsm
