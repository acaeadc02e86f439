// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/cohort.hpp"

namespace grapnel::locks {

bool Cohort::take_now(const LockId& lock, bool) {
  if (!context_.at_home(lock)) return false;
  Words& words = context_.memory.home<Words>(lock);
  if (!ranks_.take_if_free(words.ranks)) return false;
  if (!context_.one_node) {
    const bool idle = words.node.state.load() == McsQueue::kIdle;
    if (!idle || !nodes_.attempt_at_home(lock, words.node, my_node())) {
      ranks_.release(words.ranks, lock.ordinal);
      return false;
    }
  }
  return true;
}

bool Cohort::release_now(const LockId& lock) {
  if (!context_.one_node) return false;
  ranks_.release(context_.memory.home<Words>(lock).ranks, lock.ordinal);
  return true;
}

Status Cohort::start(Acquisition& a) {
  Words* words = make(a.lock);
  if (words == nullptr) return context_.no_line(a.lock);
  a.stage = kInNode;
  if (ranks_.take_if_free(words->ranks)) return start_between_nodes(a, *words);
  GRAPNEL_ASSIGN_OR_RETURN(const auto holder, ranks_.enter(words->ranks, a));
  if (holder) return start_between_nodes(a, *words);
  if (!ranks_.passed_soon(words->ranks, a)) return {};
  GRAPNEL_TRY(take_what_was_passed(a, *words, progress::Waiting::kForever));
  if (a.done) context_.statistics.count_wait(0);  // no clock was read for it
  return {};
}

// Waits for its turn in the node's queue; then it is done, or in line between the nodes.
Status Cohort::take_what_was_passed(Acquisition& a, Words& words, std::uint64_t until_ns) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto passed, ranks_.wait(words.ranks, a, until_ns));
  if (passed != NodeQueue::kPassedLock && !context_.one_node) return start_between_nodes(a, words);
  take_passed_lock(a, words);
  return {};
}

void Cohort::take_passed_lock(Acquisition& a, Words& words) {
  a.received = context_.memory.kept(&words, 0);
  a.came = Came::from_this_node;
  a.done = true;
}

// The caller holds the queue of ranks.
Status Cohort::start_between_nodes(Acquisition& a, Words& words) {
  if (context_.one_node) {
    a.received = context_.memory.kept(&words, 0);
    a.done = true;
    return {};
  }
  // A place that was given up, by this rank or another of the node, is still in the queue.
  if (nodes_.take_up(a, words.node)) return {};
  return nodes_.start(a, words.node, my_node());
}

Status Cohort::advance(Acquisition& a, std::uint64_t until_ns) {
  Words& words = *find(a.lock);
  if (a.stage == kInNode) {
    GRAPNEL_TRY(take_what_was_passed(a, words, until_ns));
    if (a.done) return {};
  }
  GRAPNEL_TRY(nodes_.advance(a, words.node, my_node(), until_ns));
  a.done = true;
  return {};
}

Status Cohort::give_up(Acquisition& a) {
  Words& words = *find(a.lock);
  if (a.stage == kInNode) {
    if (ranks_.leave(words.ranks, a)) return {};
    // It was passed in the meantime: with the node's place it is the lock, without it goes on to the next rank.
    GRAPNEL_ASSIGN_OR_RETURN(const auto passed, ranks_.wait(words.ranks, a, progress::Waiting::kForever));
    if (passed == NodeQueue::kPassedLock || context_.one_node) {
      take_passed_lock(a, words);
    } else {
      ranks_.release(words.ranks, a.lock.ordinal);
    }
    return {};
  }
  GRAPNEL_TRY(nodes_.give_up(a, words.node, my_node()));
  if (!a.done) ranks_.release(words.ranks, a.lock.ordinal);
  return {};
}

Status Cohort::attempt(Acquisition& a) {
  Words* words = make(a.lock);
  if (words == nullptr) return context_.no_line(a.lock);
  if (!ranks_.take_if_free(words->ranks)) return {};
  if (context_.one_node) {
    a.received = context_.memory.kept(words, 0);
    a.done = true;
  } else if (words->node.state.load() == McsQueue::kIdle) {
    GRAPNEL_TRY(nodes_.attempt(a, words->node, my_node()));
  }
  if (!a.done) ranks_.release(words->ranks, a.lock.ordinal);
  return {};
}

Status Cohort::release(const LockId& lock, bool, ByteView payload) {
  Words& words = *find(lock);
  if (context_.one_node) {
    context_.memory.keep(&words, 0, payload);
    ranks_.release(words.ranks, lock.ordinal);
    return {};
  }
  const bool others_turn = words.passes >= context_.options.local_passes && nodes_.knows_successor(words.node);
  if (!others_turn) {
    context_.memory.keep(&words, 0, payload);
    ++words.passes;
    if (ranks_.pass(words.ranks, lock.ordinal, NodeQueue::kPassedLock)) return {};
  }
  words.passes = 0;
  // First the place between the nodes: the next rank of this node takes a new one, behind those that wait.
  Status passed_on = nodes_.release(lock, words.node, my_node(), payload);
  ranks_.release(words.ranks, lock.ordinal);
  return passed_on;
}

Bytes Cohort::successor_payload(const LockId& lock) {
  Words& words = *find(lock);
  return context_.one_node ? Bytes() : nodes_.successor_payload(lock, words.node, my_node());
}

std::string Cohort::describe(const Acquisition& a) {
  if (a.stage == kInNode) return "it stands behind others of its node";
  return nodes_.describe(a, "its node's place");
}

}  // namespace grapnel::locks
