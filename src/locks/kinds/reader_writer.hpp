// reader_writer: readers share, writers exclude; phases alternate; a node that has a shared grant admits its readers by
// itself.
//
// Papers: thesis, 5.2 and mpi2-passive, section 4 (shared and exclusive locks) for what is asked for; the queue of
// nodes with grants that are called back, and the alternation of phases, are the project's own step.
//
// A node's words (one cache line):
//
//   [the node's word: reader_writer_word.hpp][bell][the queue of its writers: node_queue.hpp][last writer][from]
//
// The home keeps, in its server's memory: which nodes share, which one has it alone, which wait. It queues nodes.
// In a job of one node there is no home beyond the word: the node has everything.
//
//                             free                         contended
//   shared, grant is here     1 compare-and-swap           the same; none of it is a message
//           no grant          1 round trip                 the same, later
//   sole                      1 round trip                 the same, later; one call-back per node that shares (none
//                                                          for nodes admitted while a writer waited: their grant says
//                                                          that it ends by itself)
//   release, shared           1 compare-and-swap           1 one-way message, by the last reader of a node that was
//                                                          called back
//            sole             1 one-way message            the same; hand-off is 2 messages: the home decides the phase
//   in a job of one node: 1 compare-and-swap shared, 2 sole
//
// Spinning: on the node's `bell`, then it sleeps on it; writers behind another of the node on that one's link.
// Grants come from the home's server to the node's. Order: a writer's release opens a read phase for all readers that
// wait then, then comes the next writer; a read phase ends for a writer that waits: later readers are in the next one.
// Writers are FIFO in a node and by node. A reader that joins (Ask::joins_readers) is of the phase that goes on: in a
// node that has a shared grant, called back or not, it comes in by the same compare-and-swap; else the home grants at
// once while nodes share, with a flag that calls the grant back. So writers wait as long as such readers overlap. Where
// its node has asked for readers in turn already, it sends 1 message more. A waiter that gives up: a reader is no
// longer counted; a writer's request stays at the home, and the node gives the grant back when it arrives and no rank
// wants it. A holder that dies: its node gives nothing back; waiters see the death between sleeps, and the job ends.
//
// Invariants:
//  1. wi → no readers inside. gr = sole ↔ wi, in a job of several nodes.
//  2. Messages of a home to a node come in order, so a recall that finds no shared grant is one that crossed the node's
//     own giving back, and sends nothing.
//  3. The home's queue is touched by its server's thread only.
//  4. A node's reader that joins and waits while no writer of the node is inside: the home knows, or is sent, that the
//     node's request joins. The message may come before the request, or after its grant: the home keeps it for the
//     node's next one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "locks/kinds/lock_context.hpp"
#include "locks/kinds/node_queue.hpp"
#include "locks/kinds/reader_writer_word.hpp"

namespace grapnel::locks {

class ReaderWriter final : public Algorithm {
 public:
  explicit ReaderWriter(LockContext& context) : context_(context), writers_(context) {}

  bool has_shared() const override { return true; }
  void use_memory() override { writers_.use_memory(); }
  bool take_now(const LockId& lock, bool shared) override;
  bool release_now(const LockId& lock) override;
  Status start(Acquisition& a) override;
  Status advance(Acquisition& a, std::uint64_t until_ns) override;
  Status give_up(Acquisition& a) override;
  Status attempt(Acquisition& a) override;
  Status release(const LockId& lock, bool shared, ByteView payload) override;
  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) override;
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                           progress::Request& request) override;
  std::string describe(const Acquisition& a) override;
  std::string queue_behind(const LockId& lock, Rank holder) override;

 private:
  using View = ReaderWriterView;
  struct Words {
    std::atomic<std::uint64_t> state;
    os::Word bell;  ///< changes whenever a rank was admitted
    NodeQueueWords writers;
    std::atomic<std::uint32_t> holder;  ///< rank + 1 of this node's last writer
    std::atomic<std::uint32_t> from;    ///< the last grant's: node + 1 that gave it back; 0: it was free
  };
  static_assert(sizeof(Words) <= LockMemory::kLineBytes);
  struct Home {
    /// Nodes with a shared grant, and how many: a node that gives one back and at once asks again, by another rank, may
    /// be heard in the other order, and has two for that moment.
    std::map<std::uint32_t, int> sharing;
    bool sole = false;
    std::uint32_t sole_holder = 0;
    std::uint32_t last = 0;           ///< the node that gave back last
    bool recalled = false;            ///< all that share know that they are to give back
    std::set<std::uint32_t> joining;  ///< nodes whose next request joins readers
    std::deque<std::uint32_t> writers;
    std::vector<std::uint32_t> readers;
    Bytes payload;
  };
  enum Stage { kReads, kQueued, kFirstWriter };
  /// The flag of want_shared.
  enum Wish : std::uint16_t {
    kInTurn,
    kJoins,         ///< beside readers that are inside
    kRequestJoins,  ///< no request: the one that another rank of the node has sent, or sends, is to join
    kWishes
  };
  /// The value of attempt.
  enum Try : std::uint64_t { kTrySole, kTryShared, kTryJoining, kTries };

  /// Changes the word by `change(view)` unless that answers false; the view before and after.
  struct Changed {
    bool done;
    View before, after;
  };
  template <typename Change>
  Changed update(Words& words, Change change) {
    std::uint64_t seen = words.state.load();
    for (;;) {
      const View before = View::unpack(seen);
      View after = before;
      if (!change(after)) return {false, before, before};
      if (words.state.compare_exchange_weak(seen, after.pack())) return {true, before, after};
    }
  }
  /// This change made the node want shared access: the rank that made it must notify the home. While it is asked for,
  /// no other rank does, so the home queues a node once.
  static bool asks_now(const Changed& changed) { return changed.after.asked_shared && !changed.before.asked_shared; }
  static View view(const Words& words) { return View::unpack(words.state.load()); }

  bool open_to_readers(const View& v) const {
    return !v.writer && !v.writer_waits && (context_.one_node || (v.grant == View::kShared && !v.recalled));
  }
  /// Readers that join come in.
  bool open_to_joining(const View& v) const { return !v.writer && (context_.one_node || v.grant == View::kShared); }
  Words* find(const LockId& lock) {
    return context_.at_home(lock) ? &context_.memory.home<Words>(lock)
                                  : context_.memory.find_line<Words>(lock.ordinal + 1);
  }
  Words* make(const LockId& lock) {
    return context_.at_home(lock) ? &context_.memory.home<Words>(lock)
                                  : context_.memory.make_line<Words>(lock.ordinal + 1);
  }
  std::uint32_t my_node() const { return static_cast<std::uint32_t>(index(context_.my_node)); }
  void ring(Words& words);
  void finish(Acquisition& a, Words& words, bool waited);

  Status tell_home(Voice voice, const LockId& lock, Verb verb, std::uint16_t flag, ByteView payload = {});
  bool join_now(Words& words);
  Status start_reader(Acquisition& a, Words& words);
  Status start_first_writer(Acquisition& a, Words& words);
  Status try_reader(Acquisition& a, Words& words);
  Status try_writer(Acquisition& a, Words& words);
  Result<bool> ask_home_to_try(Acquisition& a, bool returns);
  void withdraw_reader(Words& words, Acquisition& a, bool& asks_again, bool asked);
  bool withdraw_writer(Words& words, bool asked);
  Status leave_reader(const LockId& lock, Words& words);
  Status leave_writer(const LockId& lock, Words& words, ByteView payload);

  // reader_writer_home.cpp: what the nodes hear from a home, and the home from them.
  bool on_sole(const LockId& lock, ByteView payload, const Sender& from);
  bool on_shared(const LockId& lock, bool recalled, ByteView payload, const Sender& from);
  bool on_recall(const LockId& lock, Voice voice);
  void take_back(const LockId& lock, std::uint32_t node, const Sender& from);
  template <typename Nodes>
  void queue(const LockId& lock, Nodes& nodes, std::uint32_t node, const Sender& from);
  void want_shared(const LockId& lock, std::uint32_t node, Wish wish, const Sender& from);
  void request_joins(const LockId& lock, std::uint32_t node);
  static bool takes_in(const Home& home, bool joins);
  void share(const LockId& lock, std::uint32_t node);
  void want_sole(const LockId& lock, std::uint32_t node, const Sender& from);
  void give_back(const LockId& lock, std::uint32_t node, bool again, ByteView payload, const Sender& from);
  void open_read_phase(const LockId& lock, Home& home);
  void grant_next(const LockId& lock, Home& home, bool after_writer, bool asked_now);
  /// `from`: what Words::from is to say.
  void send(const LockId& lock, Verb verb, std::uint32_t node, bool flag, ByteView payload, std::uint32_t from);

  LockContext& context_;
  NodeQueue writers_;
  std::unordered_map<std::size_t, Home> homes_;  ///< by ordinal; the server's thread only
};

}  // namespace grapnel::locks
