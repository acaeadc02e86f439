// A queue of members between nodes, as Mellor-Crummey and Scott's: what `mcs` (members: ranks) and `cohort` (members:
// nodes) are made of.
//
// Paper: thesis, 5.2.2 (software queuing); mpi2-passive, section 4.3 (MCS over remote atomics).
//
//   at home      tail        0 = free, else the place of the last in the queue
//   per member   state       idle | waiting | waiting, asleep | abandoned | abandoned, awaited | granted   (a futex)
//                turn        how many places the member has taken; a place is (member + 1) << 32 | turn
//                next[2]     of the place with turn t, in next[t % 2]: 0 | released | the place behind it
//                from        the holder before the last grant, for the statistics
//
//   enqueue      swap the tail for my place.  0 before: mine.  Else my place is linked to the one before: by the home's
//                server, in a message to that one's server, so that the queue grows without the waiter
//   release      next is known: one message, the grant, to that one's server.  Else mark my place released and tell the
//                home, in one message, to set the tail back to 0 if it is still my place.  If it is not, a link is
//                under way: the rank that executes it finds my place released and grants.  So a release never waits
//   grant        executed by the successor's server: wakes the member, or, if it gave up, releases for it
//
// Invariants:
//  1. A place is resolved when the tail was set back from it, or when the place behind it was granted. A member's
//     places are granted in order, so when turn t+1 is granted turn t is resolved: two `next` words are enough, and
//     the generation in the tail keeps a late "free" of turn t from freeing turn t+1.
//  2. `next` is written by exchange or compare-and-swap, once by the releaser or the linker: one of them sees the
//     other.
//  3. Only the member's current holder or waiter changes `turn`. A waiter that gave up leaves its place (`abandoned`);
//     the member may take it up again, or the grant finds it so, and passes on. Where the set carries payloads it is
//     not taken up: the one before has the payload of who left it. The member waits until it has been passed on, and
//     takes a new one.
//  4. A payload lies in the member's line (room 0: received or released; rooms 1, 2: the successor's, by turn) before
//     the word that tells of it is written.
//
// The same instructions, in this process or in the home's server, execute everything on a word: CPU-atomic.
// Threads: any; `answer` in the server's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "locks/kinds/lock_context.hpp"

namespace grapnel::locks {

struct McsMember {
  os::Word state;
  std::atomic<std::uint32_t> turn;
  std::atomic<std::uint64_t> next[2];
  std::atomic<std::uint32_t> from;  ///< the member that held it before the last grant; for the statistics
};

class McsQueue {
 public:
  /// Where the owner keeps the words.
  class Places {
   public:
    virtual std::atomic<std::uint64_t>& tail(const LockId& lock) = 0;  ///< at home
    virtual void* home_line(const LockId& lock) = 0;                   ///< whose room 0 keeps the free lock's payload
    /// A member of this node; null where it never used the lock.
    virtual McsMember* member(const LockId& lock, std::uint32_t member) = 0;
    virtual void* line(const LockId& lock, std::uint32_t member) = 0;
    virtual std::uint32_t member_count() const = 0;
    virtual NodeId node_of(std::uint32_t member) const = 0;
    virtual bool speaks_for(Rank rank, std::uint32_t member) const = 0;
    virtual std::string name_of(std::uint32_t member) const = 0;  ///< for messages

   protected:
    ~Places() = default;
  };

  enum State : std::uint32_t { kIdle = 0, kWaiting = 1, kAsleep = 3, kAbandoned = 4, kAwaited = 5, kGranted = 8 };

  McsQueue(LockContext& context, Places& places, bool has_swap)
      : context_(context), places_(places), has_swap_(has_swap) {}

  /// Takes a place. May be done at once where the home is on this node.
  Status start(Acquisition& a, McsMember& mine, std::uint32_t member);
  /// Waits for the place that `start` took, or that a rank abandoned.
  Status advance(Acquisition& a, McsMember& mine, std::uint32_t member, std::uint64_t until_ns);
  /// Leaves the place behind; done if it was granted before.
  Status give_up(Acquisition& a, McsMember& mine, std::uint32_t member);
  /// Takes up an abandoned place again, or waits behind it, in `advance`; false when there is none.
  bool take_up(Acquisition& a, McsMember& mine);
  /// Takes a place only where the queue is empty.
  Status attempt(Acquisition& a, McsMember& mine, std::uint32_t member);
  bool attempt_at_home(const LockId& lock, McsMember& mine, std::uint32_t member);

  /// The holder leaves; `state` is idle then.
  Status release(const LockId& lock, McsMember& mine, std::uint32_t member, ByteView payload);
  bool knows_successor(const McsMember& mine) const { return next_of(mine, mine.turn.load()).load() > kReleased; }
  /// For the message about a death: what `a` is behind, as far as its rank knows. `place`: what is there.
  std::string describe(const Acquisition& a, const char* place) const;
  Bytes successor_payload(const LockId& lock, McsMember& mine, std::uint32_t member);

  bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from);
  progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload, progress::Request& request);

 private:
  enum Stage { kBehindOwnPlace = 16, kAsked, kInQueue };  // apart from the owner's
  static constexpr std::uint64_t kReleased = 1;

  static std::uint64_t place_of(std::uint32_t member, std::uint32_t turn) {
    return (std::uint64_t{member} + 1) << 32 | turn;
  }
  static std::uint32_t member_of(std::uint64_t place) { return static_cast<std::uint32_t>(place >> 32) - 1; }
  static std::uint32_t turn_of(std::uint64_t place) { return static_cast<std::uint32_t>(place); }
  static std::atomic<std::uint64_t>& next_of(McsMember& of, std::uint32_t turn) { return of.next[turn % 2]; }
  static const std::atomic<std::uint64_t>& next_of(const McsMember& of, std::uint32_t turn) {
    return of.next[turn % 2];
  }
  static int successor_room(std::uint32_t turn) { return 1 + static_cast<int>(turn % 2); }
  bool is_place(std::uint64_t place) const;
  bool is_place_here(std::uint64_t place) const;

  std::uint64_t new_place(McsMember& mine, std::uint32_t member, State state);
  void forget_place(McsMember& mine);
  void got_it(Acquisition& a, McsMember& mine, ByteView payload);
  static bool mark(McsMember& mine, std::uint32_t& seen, State awake, State asleep);
  Status start_anew(Acquisition& a, McsMember& mine, std::uint32_t member, std::uint64_t until_ns);
  Status in_queue_behind(Acquisition& a, std::uint64_t before);
  Status swap_at_home(Acquisition& a, McsMember& mine, std::uint64_t place);
  Status ask_to_compare(Acquisition& a, std::uint64_t place, std::uint64_t expected);
  bool lost_race(const Acquisition& a) const;
  Status take_answer(Acquisition& a, McsMember& mine, std::uint32_t member);
  bool wake_waiter(McsMember& member);

  // `from`: the place of the last holder. `place`: the one that is left; the one that gets it.
  Status pass_on(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload, Voice voice);
  Status grant(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload, Voice voice);
  bool free_tail(const LockId& lock, std::uint64_t place, ByteView payload);
  bool on_link(const LockId& lock, std::uint64_t before, std::uint64_t place, ByteView payload, const Sender& speaker);
  bool on_grant(const LockId& lock, std::uint64_t place, std::uint64_t from, ByteView payload, const Sender& speaker);
  /// The place's number, "turn 3 of node 1 (ranks 2, 3)".
  std::string name_place(std::uint64_t place) const;

  LockContext& context_;
  Places& places_;
  const bool has_swap_;
};

}  // namespace grapnel::locks
