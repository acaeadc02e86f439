// The one interface of all locks, and what one acquisition carries from its start to its end.
//
// An acquisition goes start → advance (until it is done) or start → advance → give_up; a try is `attempt`. After it is
// done the rank holds the lock until `release`. The set (lock_set.hpp) has checked index and home, and that the rank
// neither holds the lock nor waits for it in another acquisition.
//
// What comes over the wire is handled by `hear` (one-way) and `answer` (asked), in the server's thread; `hear` also
// runs in a rank's thread where the message would have gone to its own node. Both never wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "core/network_words.hpp"
#include "grapnel/status.hpp"
#include "locks/kinds/lock_memory.hpp"
#include "locks/messages.hpp"
#include "progress/handlers.hpp"

namespace grapnel::locks {

/// The sender: a rank through its client, or the node's server.
enum class Voice { rank, server };

/// The sender of a received message, by the connection that it came through; the message's own fields are not trusted.
struct Sender {
  Voice voice;
  NodeId node;
  std::optional<Rank> rank = std::nullopt;  ///< none: the node's server
};

/// What a server's answer leaves for the one who asked. Any thread of the rank may be the one that takes the reply: the
/// rest is written before `arrived` is stored (release) and read after it was seen (acquire).
struct Answer {
  std::atomic<bool> arrived{false};
  bool refused = false;
  LockBody body;
  Bytes payload;
};

/// Where a lock came from, for the statistics.
enum class Came { free, from_this_node, from_elsewhere };

class LockContext;
class Set;

struct Acquisition {
  LockId lock;
  bool shared = false;
  bool joins = false;  ///< shared: beside the readers that are inside, in spite of a writer that waits
  bool timed = false;  ///< may be given up
  ByteView payload;    ///< the acquirer's; lives until it is done
  Bytes kept_payload;  ///< … here, where the caller does not wait

  bool done = false;
  Bytes received;  ///< the last releaser's payload, once done
  Came came = Came::free;
  const Set* started_by = nullptr;  ///< whose `start` made it; misuse is found by these two
  bool delivered = false;           ///< its caller knows that it holds the lock
  // Of a waiter that tries again and again; kept here, so that tests in between change nothing (LockContext::retry).
  std::uint64_t pause_ns = 0;       ///< the last one's length; 0: none yet
  std::uint64_t not_before_ns = 0;  ///< the next try; 0: at once

  // Of the shared mode around the algorithm (shared_mode.hpp).
  int step = 0;
  Tally tally;                           ///< what came with the lock
  std::uint64_t join_pause_ns = 0;       ///< the last one between looks for readers to join
  std::uint64_t join_not_before_ns = 0;  ///< the next look

  // The algorithm's own.
  int stage = 0;
  std::uint32_t ticket = 0;  ///< or phase, or failed tries
  std::uint32_t record = 0,
                waits_at = 0;  ///< its place in a queue inside the node, and the one before (node_queue.hpp)
  std::uint64_t before = 0;    ///< whom it waits behind
  std::unique_ptr<Answer> answer;
  std::uint64_t expected = 0;                   ///< network domain: what the comparison under way expects
  core::NetworkWords::Call* call = nullptr;     ///< … and that operation; null: none
  std::shared_ptr<core::NetworkWords> call_of;  ///< whose it is
  LockContext* asked_by = nullptr;  ///< keeps the answer's place when the acquisition ends before it arrives

  Acquisition() = default;
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;
  ~Acquisition() {
    if (answer != nullptr) [[unlikely]]
      leave_answer();
    if (call != nullptr) [[unlikely]]
      call_of->abandon(call);
  }

 private:
  void leave_answer();
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  virtual bool has_shared() const { return false; }
  /// Network domain: what a member asks for there, of which LockContext::network_parts then has the addresses.
  virtual std::size_t network_bytes() const { return 0; }
  /// The set's memory is there; nothing else was called before.
  virtual void use_memory() {}

  /// Takes the lock if that needs no message, no waiting and no payload. The fast path.
  virtual bool take_now(const LockId& lock, bool shared) = 0;
  /// The same for the release of an exclusive one.
  virtual bool release_now(const LockId&) { return false; }

  /// Takes its place in the queue: sends what can be sent without waiting for an answer. May be done at once.
  virtual Status start(Acquisition& a) = 0;
  /// Waits until it is done. timed_out: not by `until_ns` (0: only looks); it may be called again.
  virtual Status advance(Acquisition& a, std::uint64_t until_ns) = 0;
  /// After timed_out of a timed one: leaves, unless it was granted before; then it is done.
  virtual Status give_up(Acquisition& a) = 0;
  /// Takes the lock if it is free; one round trip at most.
  virtual Status attempt(Acquisition& a) = 0;

  /// Never waits for another rank. `payload` is sent to the next holder.
  virtual Status release(const LockId& lock, bool shared, ByteView payload) = 0;

  /// What the next one in the queue sent with its enqueue, as far as it is known here; for holders.
  virtual Bytes successor_payload(const LockId&) { return {}; }

  /// What another rank or server says of the lock; never waits. False: no program of this version says it, and nothing
  /// was done. What has the form of a right message and contradicts the lock's state ends the job
  /// (LockContext::abort_job): two ranks would hold the lock, or none could get it. Messages for the home alone are
  /// sent to the home alone.
  virtual bool hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) = 0;
  virtual progress::Outcome answer(const LockId& lock, const LockBody& body, ByteView payload,
                                   progress::Request& request) = 0;

  /// The holder or the place before `a`, as far as this rank knows: for the message of a job that ends.
  virtual std::string describe(const Acquisition& a) = 0;
  /// The home's server, for the same message, where `holder` has died: that it holds the lock, and who waits; empty
  /// where it does not, or where the home does not know.
  virtual std::string queue_behind(const LockId&, Rank) { return {}; }
};

}  // namespace grapnel::locks
