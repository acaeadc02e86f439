// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/server_queue.hpp"

#include <algorithm>

namespace grapnel::locks {

Status ServerQueue::ask(Acquisition& a, Verb verb) {
  return context_.ask(a, context_.node_of(a.lock.home), context_.body(verb, a.lock, index(context_.me)), a.payload);
}

void ServerQueue::take_answer(Acquisition& a) {
  const LockBody& said = a.answer->body;
  if (said.flag == kCancelled) return;
  if (said.flag == kHandedOver) a.came = context_.came_from(Rank(static_cast<int>(said.value)));
  a.received = a.answer->payload;
  a.done = true;
}

Status ServerQueue::start(Acquisition& a) { return ask(a, Verb::enqueue); }

Status ServerQueue::advance(Acquisition& a, std::uint64_t until_ns) {
  GRAPNEL_TRY(context_.wait_for_answer(a, until_ns));
  take_answer(a);
  return {};
}

Status ServerQueue::give_up(Acquisition& a) {
  const NodeId home = context_.node_of(a.lock.home);
  GRAPNEL_TRY(context_.tell(home, context_.body(Verb::cancel, a.lock, index(context_.me)), {}));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  take_answer(a);
  return {};
}

Status ServerQueue::attempt(Acquisition& a) {
  GRAPNEL_TRY(ask(a, Verb::attempt));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  if (a.answer->body.other == 0) take_answer(a);
  return {};
}

Status ServerQueue::release(const LockId& lock, bool, ByteView payload) {
  return context_.tell(context_.node_of(lock.home), context_.body(Verb::free, lock, index(context_.me)), payload);
}

progress::Outcome ServerQueue::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  Queue& queue = queues_[lock.ordinal];
  // Once in the queue, or the server would keep what it is sent, and grant what no rank waits for.
  const auto is_asker = [&](const Waiter& waiter) { return waiter.rank == request.origin; };
  if ((queue.held && queue.holder == request.origin) ||
      std::any_of(queue.waiters.begin(), queue.waiters.end(), is_asker)) {
    return progress::Outcome::refused;
  }
  LockBody said = body;
  said.other = 0;
  said.flag = kFree;
  switch (body.verb) {
    case Verb::attempt:
      if (queue.held) {
        said.other = index(queue.holder) + 1;
        context_.answer(request, said, {});
        return progress::Outcome::done;
      }
      [[fallthrough]];
    case Verb::enqueue:
      if (queue.held) {
        queue.waiters.push_back({request.origin, request.token});
        return progress::Outcome::done;
      }
      set_holder(lock, queue, request.origin);
      context_.answer(request, said, queue.payload);
      return progress::Outcome::done;
    default: return progress::Outcome::refused;
  }
}

bool ServerQueue::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  if (!from.rank || index(*from.rank) != body.me) return false;
  const auto found = queues_.find(lock.ordinal);
  if (body.verb == Verb::cancel) return found == queues_.end() || cancel(lock, found->second, body.me);
  if (body.verb != Verb::free) return false;
  if (found == queues_.end() || !found->second.held || index(found->second.holder) != body.me) {
    context_.abort_job(lock, from, "frees it and does not hold it");
  }
  Queue& queue = found->second;
  queue.payload.assign(payload.begin(), payload.end());
  if (queue.waiters.empty()) {
    queue.held = false;
    if (queue.payload.empty()) queues_.erase(found);
    return true;
  }
  const Waiter next = queue.waiters.front();
  queue.waiters.pop_front();
  LockBody said = context_.body(Verb::enqueue, lock);
  said.flag = kHandedOver;
  said.value = index(queue.holder);
  set_holder(lock, queue, next.rank);
  context_.answer_later(next.rank, next.token, said, queue.payload);
  return true;
}

bool ServerQueue::cancel(const LockId& lock, Queue& queue, std::uint64_t rank) {
  const auto place = std::find_if(queue.waiters.begin(), queue.waiters.end(),
                                  [&](const Waiter& waiter) { return index(waiter.rank) == rank; });
  if (place == queue.waiters.end()) return true;  // the grant is under way
  const Waiter leaving = *place;
  queue.waiters.erase(place);
  LockBody said = context_.body(Verb::cancel, lock);
  said.flag = kCancelled;
  context_.answer_later(leaving.rank, leaving.token, said, {});
  return true;
}

void ServerQueue::set_holder(const LockId& lock, Queue& queue, Rank holder) {
  queue.held = true;
  queue.holder = holder;
  // relaxed: for reports only.
  context_.memory.home<Words>(lock).holder.store(static_cast<std::uint32_t>(index(holder)) + 1,
                                                 std::memory_order_relaxed);
}

std::string ServerQueue::describe(const Acquisition& a) {
  if (!context_.at_home(a.lock)) {
    return fmt::format("its place is in the queue of {}, which tells the holder",
                       context_.name_of(context_.node_of(a.lock.home)));
  }
  const std::uint32_t holder = context_.memory.home<Words>(a.lock).holder.load(std::memory_order_relaxed);
  return holder == 0 ? "its home's server has not handled the request yet"
                     : fmt::format("rank {} holds it", holder - 1);
}

std::string ServerQueue::queue_behind(const LockId& lock, Rank holder) {
  const auto found = queues_.find(lock.ordinal);
  if (found == queues_.end() || !found->second.held || found->second.holder != holder) return {};
  std::vector<Rank> ranks;
  for (const Waiter& waiter : found->second.waiters) ranks.push_back(waiter.rank);
  return fmt::format("its home's server has granted it to rank {}; in the queue: {}", index(holder),
                     ranks.empty() ? "nobody" : context_.name_of(ranks));
}

}  // namespace grapnel::locks
