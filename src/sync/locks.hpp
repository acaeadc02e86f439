// Locks at home in every rank: a queue at the home's node.
//
// server_queue (a job of several nodes): a request goes to the home's server, which keeps a queue per lock and grants
// in the order of arrival; the grant is the answer to the request, so a waiter sleeps in its transport. Free acquire:
// one round trip; contended hand-over: two messages (release to the server, grant to the next); release: one one-way
// message. In a job of one node: a ticket lock in shared memory; acquire and release are one atomic each, waiters sleep
// on the word.
//
// A holder that dies ends the job. Not re-entrant. Threads: any; a lock belongs to the rank, not to the thread.
// Source: thesis, section 5.1 (the server-based lock, and the ticket lock for ranks of one node).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {

/// One lock of a job of one node, in shared memory. Tickets are monotone and compared for equality.
struct alignas(64) TicketWord {
  os::Word next;
  os::Word serving;
};

class Locks {
 public:
  /// `client` is null in a job of one node.
  Locks(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client);

  void add_handlers(progress::Server& server);

  /// How many bytes of segment memory `count` locks take in every rank; `words_of_rank` then gives their place.
  static std::size_t bytes_for(int count) { return static_cast<std::size_t>(count) * sizeof(TicketWord); }
  Status open(int count, std::vector<TicketWord*> words_of_rank);
  Status close();
  bool any_held();

  Status acquire(int lock_index, Rank home);
  Status release(int lock_index, Rank home);

 private:
  struct Waiter {
    Rank rank;
    std::uint64_t token;
  };
  struct Queue {
    bool held = false;
    Rank holder{};
    std::deque<Waiter> waiters;
  };
  using Name = std::pair<int, int>;  ///< home, index

  Status check(int lock_index, Rank home) const;
  Status ask_server(const LockBody& body, NodeId node);
  Status tell_server(const LockBody& body, NodeId node);
  Status take_ticket(TicketWord& word);
  progress::Outcome on_lock(progress::Request& request);
  progress::Outcome on_unlock(progress::Request& request);

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  progress::Server* server_ = nullptr;
  int count_ = 0;
  std::vector<TicketWord*> words_;
  std::mutex mutex_;              ///< of `held_`
  std::map<Name, bool> held_;     ///< by this rank: asked for, and true once granted
  std::map<Name, Queue> queues_;  ///< server's thread only
};

}  // namespace grapnel::sync
