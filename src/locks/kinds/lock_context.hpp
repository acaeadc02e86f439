// What every lock algorithm builds on: the set's options and memory, messages, waiting, back-off.
//
// Threads: any; what is marked so only in the server's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "base/random.hpp"
#include "core/network_words.hpp"
#include "grapnel/lock.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "locks/kinds/algorithm.hpp"
#include "locks/kinds/lock_memory.hpp"
#include "locks/kinds/statistics.hpp"
#include "locks/messages.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"

namespace grapnel::locks {

/// What a set finds in its process.
struct LockEnvironment {
  launch::Launch& launch;
  progress::Waiting& waiting;
  progress::Client* client;  ///< null in a job of one node
  progress::Server* server;  ///< null where this rank does not lead its node, too
  std::shared_ptr<core::NetworkWords> words;
};

/// A structure and the payload behind it, side by side.
template <typename Front, std::size_t kMostPayload>
class WithPayload {
 public:
  WithPayload(const Front& front, ByteView payload) : size_(sizeof front + payload.size()) {
    GRAPNEL_CHECK(payload.size() <= kMostPayload, "a lock's payload of {} bytes, of {}", payload.size(), kMostPayload);
    std::memcpy(bytes_.data(), &front, sizeof front);
    if (!payload.empty()) std::memcpy(bytes_.data() + sizeof front, payload.data(), payload.size());
  }
  ByteView view() const { return ByteView(bytes_).first(size_); }

 private:
  std::array<std::byte, sizeof(Front) + kMostPayload> bytes_;
  std::size_t size_;
};

class LockContext {
 public:
  LockContext(const LockEnvironment& environment, std::uint64_t set, std::shared_ptr<const launch::Group> members,
              int locks, const LockOptions& wanted);

  /// Receives the messages that this node sends to itself.
  void set_receiver(Algorithm& algorithm) { algorithm_ = &algorithm; }

  launch::Launch& launch;
  progress::Waiting& waiting;
  const LockOptions options;
  const std::shared_ptr<const launch::Group> group;
  const int count;
  const bool one_node;  ///< all members are of this node: no message is needed
  const Rank me;
  const NodeId my_node;
  LockMemory memory;
  Statistics statistics;
  const std::shared_ptr<core::NetworkWords> words;  ///< for the network domain
  std::vector<void*> network_parts;                 ///< there: of each member, by its place in the group

  /// A kind whose shared mode is shared_mode.hpp's.
  static bool counts_readers(const LockOptions& options) {
    return options.shared_mode && options.kind != LockKind::reader_writer && options.domain == AtomicDomain::processor;
  }

  NodeId node_of(Rank rank) const { return launch.nodes().node_of[index(rank)]; }
  static bool at_home(const LockId& lock) { return lock.here != nullptr; }

  LockBody body(Verb verb, const LockId& lock, std::uint64_t me_word = 0, std::uint64_t other = 0) const {
    return {set_, verb, 0, static_cast<std::int32_t>(lock.home), lock.index, 0, me_word, other, 0};
  }

  /// Sends it to a node's server, or, where that is this node, handles it here and now.
  Status deliver(Voice voice, NodeId to, const LockId& lock, const LockBody& body, ByteView payload);
  /// From a rank to the server of a node, its own too. It has left on return.
  Status tell(NodeId to, const LockBody& body, ByteView payload);
  /// The same after a death, when nothing is waited for any more: it has left on return unless `until_ns` has passed.
  void tell_at_the_end(NodeId to, const LockBody& body, std::uint64_t until_ns);
  /// Asks a node's server; `wait_for_answer` ends when `a.answer` has arrived.
  Status ask(Acquisition& a, NodeId to, const LockBody& body, ByteView payload);
  Status wait_for_answer(Acquisition& a, std::uint64_t until_ns);
  /// Takes over the place of an answer that is no longer awaited. It lives as long as the set, longer than the
  /// client.
  void keep(std::unique_ptr<Answer> awaited);

  /// Server: answers a request now.
  void answer(progress::Request& request, const LockBody& body, ByteView payload);
  /// Server: answers one that was left waiting.
  void answer_later(Rank to, std::uint64_t token, const LockBody& body, ByteView payload);

  /// Waits until `ready()` holds; the thread that makes it hold changes `word` and wakes.
  template <typename Ready>
  Status wait_on(os::Word& word, std::uint64_t until_ns, Ready ready) {
    return waiting.on_marked_word(
        word, [&](std::uint32_t) { return ready(); }, [](std::uint32_t) { return true; }, until_ns);
  }

  /// The same where only this node's server, and no rank, makes it hold: in the server's process, while that sleeps,
  /// the caller does its work. The message that ends the wait then wakes one thread and not two, the server and the
  /// caller; where other threads have the processors, each of them waits for one.
  template <typename Ready>
  Status wait_for_server(os::Word& word, std::uint64_t until_ns, Ready ready) {
    if (server_ != nullptr && until_ns != 0) {
      if (ready()) return {};
      progress::Server::Driver driver(*server_);
      if (driver.has_turn()) return waiting.on_worker(driver, ready, until_ns);
    }
    return wait_on(word, until_ns, ready);
  }

  /// Tries again and again until it is done, with pauses that double from the options' first to their longest. Pauses
  /// and tries go on where an earlier call left them, however short each call's time is.
  template <typename Attempt>
  Status retry(Acquisition& a, std::uint64_t until_ns, Attempt attempt) {
    for (;;) {
      GRAPNEL_TRY(pause(a, until_ns));
      GRAPNEL_TRY(attempt(a));
      if (a.done) return {};
      set_pause(a, a.pause_ns == 0 ? options.backoff_ns : 2 * a.pause_ns);
    }
  }
  /// From now on, `pause_ns` at most the options' longest. Random between half of that and all of it, so that equal
  /// waiters part.
  void set_pause(Acquisition& a, std::uint64_t pause_ns);
  /// Sleeps until the acquisition's pause is over; reads no clock where it has none. timed_out: `until_ns` came first
  /// (0: it is not over).
  Status pause(const Acquisition& a, std::uint64_t until_ns);

  /// Ends the job over what was heard or answered: "… `what`, which no program of this version does".
  [[noreturn]] void abort_job(const LockId& lock, const Sender& from, const std::string& what) const;
  Sender server_of(Rank home) const { return {Voice::server, node_of(home)}; }

  /// The node's table of lines is full.
  Status no_line(const LockId& lock) const;

  /// "node 1 (ranks 2, 3)", "ranks 2, 3", for messages.
  std::string name_of(NodeId node) const;
  static std::string name_of(const std::vector<Rank>& ranks);

  /// `rank` may be a value from the wire.
  Came came_from(Rank rank) const {
    const bool here = index(rank) < static_cast<std::size_t>(launch.size()) && node_of(rank) == my_node;
    return here ? Came::from_this_node : Came::from_elsewhere;
  }

 private:
  Status send_to(NodeId to, ByteView composed);

  progress::Client* client_;
  progress::Server* server_;
  const std::uint64_t set_;
  Algorithm* algorithm_ = nullptr;
  std::atomic<std::uint64_t> random_;
  base::Mutex abandoned_mutex_;
  std::vector<std::unique_ptr<Answer>> abandoned_
      GRAPNEL_GUARDED_BY(abandoned_mutex_);  ///< places of answers that are no longer awaited
};

}  // namespace grapnel::locks
