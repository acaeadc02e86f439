// How a rank notifies its own node's server of work in node memory, and which thread has the turn to do it.
//
// The rank writes the work, then rings. The thread that has the server's turn looks at the work between its messages,
// and once more before it sleeps, so one that is awake needs no ringing; one that sleeps does so in the transport and
// is woken there: in its own process by `Worker::wake`, from another by a message without content.
//
//   rank:    work (seq_cst store) ─▶ asleep? ─▶ wake
//   turn:    asleep = 1 (seq_cst) ─▶ look at the work once more ─▶ sleep ─▶ asleep = 0
//
// Either the rank sees `asleep` or the other sees the work. The turn is the server's. While the server sleeps another
// thread of its process may take it, and gives it back in the same state: the work looked at after `asleep` was set,
// the worker armed. A server that is woken then waits for its turn.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::progress {

class Doorbell {
 public:
  /// Collective in the order of carving.
  explicit Doorbell(launch::Launch& launch)
      : asleep_(launch.node_memory().carve<os::Word>(1).front()),
        turn_(launch.node_memory().carve<os::Word>(1).front()) {}

  /// After the work was stored (seq_cst): whether the thread that has the turn must be woken.
  bool must_wake() const { return asleep_.load(std::memory_order_seq_cst) != 0; }
  /// Only the thread that has the turn.
  void set_asleep(bool asleep) { asleep_.store(asleep ? 1 : 0, std::memory_order_seq_cst); }

  // The server.
  /// Asleep, and with nothing left to do.
  void offer_turn() { turn_.store(kFree, std::memory_order_release); }
  /// Waits while another thread has it, `timeout_ns` at most between two looks.
  void reclaim_turn(os::Host& host, std::uint64_t timeout_ns) {
    for (;;) {
      std::uint32_t turn = kFree;
      // acq_rel: what the other thread did is seen.
      if (turn_.compare_exchange_strong(turn, kServers, std::memory_order_acq_rel)) return;
      if (turn == kTaken && !turn_.compare_exchange_strong(turn, kWanted, std::memory_order_relaxed)) continue;
      host.wait(turn_, kWanted, timeout_ns);
    }
  }

  // Another thread of its process (Server::Driver).
  bool take_turn() {
    std::uint32_t turn = kFree;
    // acquire: pairs with `offer_turn` and `give_back`.
    return turn_.compare_exchange_strong(turn, kTaken, std::memory_order_acq_rel);
  }
  void give_back(os::Host& host) {
    if (turn_.exchange(kFree, std::memory_order_acq_rel) == kWanted) host.wake(turn_);
  }

 private:
  enum Turn : std::uint32_t {
    kServers,
    kFree,
    kTaken,   ///< another thread's
    kWanted,  ///< the same, and the server waits for it
  };

  os::Word& asleep_;
  os::Word& turn_;
};

}  // namespace grapnel::progress
