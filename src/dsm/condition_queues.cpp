// SPDX-License-Identifier: Apache-2.0
#include "dsm/condition_queues.hpp"

#include "base/check.hpp"
#include "dsm/table_turn.hpp"

namespace grapnel::dsm {

// relaxed, all: under the word.

bool ConditionQueues::is_kept_here(const ConditionBody& body, std::size_t node) const {
  // As many locks as conditions.
  return body.wish <= ConditionWish::take_all && body.condition < memory_.condition_count() &&
         body.lock < memory_.condition_count() && memory_.keeper_of_condition(body.condition) == node;
}

std::optional<ConditionQueues::Answer> ConditionQueues::try_do(const ConditionBody& body, std::uint32_t rank) {
  const TableTurn turn(memory_.node().conditions_mutex);
  if (!turn.has()) return std::nullopt;
  Answer answer;
  ConditionWords& queue = memory_.condition(body.condition);
  const bool is_empty = queue.last.load(std::memory_order_relaxed) == 0;
  const std::uint32_t lock = queue.lock.load(std::memory_order_relaxed);
  if (!is_empty && lock != body.lock) {
    answer.other_lock = lock + 1;
  } else if (body.wish == ConditionWish::enter) {
    queue.lock.store(body.lock, std::memory_order_relaxed);
    answer.refused = !enter(queue, rank);
  } else {
    const bool all = body.wish == ConditionWish::take_all;
    while (queue.last.load(std::memory_order_relaxed) != 0 && (all || answer.ranks.empty())) {
      answer.ranks.push_back(take_first(queue));
    }
  }
  return answer;
}

bool ConditionQueues::enter(ConditionWords& queue, std::uint32_t rank) {
  std::atomic<std::uint32_t>& mine = memory_.behind(rank);
  if (mine.load(std::memory_order_relaxed) != 0) return false;
  const std::uint32_t last = queue.last.load(std::memory_order_relaxed);
  // The rank itself where it is alone.
  std::uint32_t first = rank + 1;
  if (last != 0) first = memory_.behind(last - 1).exchange(rank + 1, std::memory_order_relaxed);
  mine.store(first, std::memory_order_relaxed);
  queue.last.store(rank + 1, std::memory_order_relaxed);
  return true;
}

std::uint32_t ConditionQueues::take_first(ConditionWords& queue) {
  const std::uint32_t last = queue.last.load(std::memory_order_relaxed);
  GRAPNEL_ASSERT(last != 0, "the first rank is taken out of an empty queue");
  const std::uint32_t first = memory_.behind(last - 1).load(std::memory_order_relaxed);
  GRAPNEL_ASSERT(first != 0, "rank {} is the last of a queue that has no first", last - 1);
  const std::uint32_t second = memory_.behind(first - 1).exchange(0, std::memory_order_relaxed);
  if (first == last) {
    queue.last.store(0, std::memory_order_relaxed);
  } else {
    memory_.behind(last - 1).store(second, std::memory_order_relaxed);
  }
  return first - 1;
}

bool wake_waiter(const HeapMemory& memory, os::Host& host, const WakeBody& body) {
  os::Word& awaited = memory.awaited(body.rank);
  std::uint32_t expected = body.condition + 1;
  if (!awaited.compare_exchange_strong(expected, 0, std::memory_order_release, std::memory_order_relaxed)) return false;
  host.wake(awaited);
  return true;
}

}  // namespace grapnel::dsm
