// cohort: a queue of ranks inside each node, a queue of nodes between them.
//
// Papers: thesis, 5.2 (the queue between nodes); the cohort composition is the project's own step beyond it (design
// section 4): ranks of a node hand the lock on by shared memory, and the node's place is passed on by one message.
//
// The words, one cache line:
//
//   [tail of nodes, at home only][state][turn][next, next][from]   the queue of nodes    (mcs_queue.hpp)
//   [tail of ranks][link]                                    the queue of ranks    (node_queue.hpp)
//   [passes]                                                 hand-overs in this node in a row
//
//                       free                             contended
//   acquire at home     2 compare-and-swaps              the same, then waits; 1 in a job of one node
//           elsewhere   1 compare-and-swap, 1 round trip the first of the node: 1 round trip, 1 link from the home's
//                                                        server; the others of the node: nothing
//   release at home     3 c-a-s; 1 in a job of one node  to a rank of this node: 1 c-a-s; to another node: 1 message
//           elsewhere   1 one-way message, 3 c-a-s       the same
//
// Spinning: a rank on the link of the one before, or, first of its node, on the node's `state`; then it sleeps
// there.
// Order: FIFO in a node, FIFO between nodes; a node passes the lock on inside at most `local_passes` times in a row
// while another node waits. One who gives up leaves its record, or its node's place: the next rank of the node takes
// that up, or the grant finds it empty and passes on. A holder that dies: it is not handed over; waiters see the death
// between sleeps, and name the node they stand behind.
//
// Invariants:
//  1. Only the holder of the queue of ranks touches the node's place in the queue of nodes; servers grant to it.
//  2. The lock is held by the rank that holds the queue of ranks while `state` is granted (in a job of one node:
//     always).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/mcs_queue.hpp"
#include "locks/kinds/node_queue.hpp"

namespace grapnel::locks {

class Cohort final : public Algorithm, private McsQueue::Places {
 public:
  explicit Cohort(LockContext& context) : context_(context), nodes_(context, *this, true), ranks_(context) {}

  /// In a job of one node, where the queue of ranks is the whole lock: what takes one compare-and-swap.
  bool take_in_node(std::byte* home) { return ranks_.take_if_free(reinterpret_cast<Words*>(home)->ranks); }
  /// … and what follows where that fails: in line behind the holder. True: the caller holds it.
  Result<bool> enter_in_node(Acquisition& a) {
    a.stage = kInNode;
    return ranks_.enter(context_.memory.home<Words>(a.lock).ranks, a);
  }
  bool wait_shortly_in_node(const Acquisition& a) {
    return ranks_.wait_shortly(context_.memory.home<Words>(a.lock).ranks, a);
  }
  bool release_in_node(std::byte* home, std::size_t ordinal) {
    return ranks_.release_at_once(reinterpret_cast<Words*>(home)->ranks, ordinal);
  }

  void use_memory() override { ranks_.use_memory(); }
  bool take_now(const LockId& lock, bool shared) override;
  bool release_now(const LockId& lock) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  Bytes successor_payload(const LockId& lock) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override {
    return nodes_.hear(lock, body, payload, from);
  }
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override {
    return nodes_.answer(lock, body, payload, request);
  }
  std::string describe(const Acquisition& a) override;

 private:
  struct Words {
    std::atomic<std::uint64_t> tail;
    McsMember node;
    NodeQueueWords ranks;
    std::uint32_t passes;
  };
  static_assert(sizeof(Words) <= LockMemory::kLineBytes);
  enum Stage { kInNode = 1 };  ///< else McsQueue's

  std::atomic<std::uint64_t>& tail(const LockId& lock) override { return context_.memory.home<Words>(lock).tail; }
  void* home_line(const LockId& lock) override { return &context_.memory.home<Words>(lock); }
  McsMember* member(const LockId& lock, std::uint32_t) override {
    Words* words = find(lock);
    return words != nullptr ? &words->node : nullptr;
  }
  void* line(const LockId& lock, std::uint32_t) override { return find(lock); }
  std::uint32_t member_count() const override {
    return static_cast<std::uint32_t>(context_.launch.nodes().node_count());
  }
  NodeId node_of(std::uint32_t node) const override { return NodeId(static_cast<int>(node)); }
  bool speaks_for(Rank rank, std::uint32_t node) const override { return context_.node_of(rank) == node_of(node); }
  std::string name_of(std::uint32_t node) const override { return context_.name_of(node_of(node)); }

  Words* find(const LockId& lock) {
    return context_.at_home(lock) ? &context_.memory.home<Words>(lock)
                                  : context_.memory.find_line<Words>(lock.ordinal + 1);
  }
  Words* make(const LockId& lock) {
    return context_.at_home(lock) ? &context_.memory.home<Words>(lock)
                                  : context_.memory.make_line<Words>(lock.ordinal + 1);
  }
  std::uint32_t my_node() const { return static_cast<std::uint32_t>(index(context_.my_node)); }

  Status start_between_nodes(Acquisition& a, Words& words);
  void take_passed_lock(Acquisition& a, Words& words);
  Status take_what_was_passed(Acquisition& a, Words& words, std::uint64_t until_ns);

  LockContext& context_;
  McsQueue nodes_;
  NodeQueue ranks_;
};

}  // namespace grapnel::locks
