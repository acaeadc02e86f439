// How a rank tells its own node's server that there is work in node memory, and whose turn it is to do it.
//
// The rank writes the work, then rings; a server that is awake looks at the work between its messages and needs no
// ringing. One that sleeps does so in its transport. A thread of its own process then does the work itself, as the
// server's stand-in: to wake somebody who then does it takes longer. For a rank of another process the server is woken
// by a message without content.
//
//   rank:    work (seq_cst store) ─▶ asleep? ─▶ stand in, or wake the server
//   server:  drowsy (seq_cst) ─▶ look at the work once more ─▶ asleep ─▶ dozes ─▶ awake, once nobody stands in
//
// Either the rank sees that the server is not awake or the server sees the work. Threads: any.
#pragma once

#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::progress {

class Bell {
 public:
  /// Collective in the order of carving.
  explicit Bell(launch::Launch& launch) : turn_(launch.node_memory().carve<os::Word>(1).front()) {}

  /// After the work was stored (seq_cst): whether the server must be woken, unless one can stand in for it.
  bool must_wake() const { return turn_.load(std::memory_order_seq_cst) != kAwake; }

  // The server. Between `fall_asleep` and `wake_up` the server's things are not its own.
  void become_drowsy() { turn_.store(kDrowsy, std::memory_order_seq_cst); }
  void stay_awake() { turn_.store(kAwake, std::memory_order_seq_cst); }
  void fall_asleep() { turn_.store(kAsleep, std::memory_order_release); }
  /// Waits while somebody stands in; `timeout_ns` between looks.
  void wake_up(os::Host& host, std::uint64_t timeout_ns) {
    for (;;) {
      std::uint32_t turn = kAsleep;
      // acq_rel: what a stand-in did is seen.
      if (turn_.compare_exchange_strong(turn, kAwake, std::memory_order_acq_rel)) return;
      if (turn == kTaken && !turn_.compare_exchange_strong(turn, kWanted, std::memory_order_relaxed)) continue;
      host.wait(turn_, kWanted, timeout_ns);
    }
  }

  // Its stand-in: a thread of the server's process.
  /// False unless the server sleeps and nobody stands in for it.
  bool take_turn() {
    std::uint32_t turn = kAsleep;
    // acquire: pairs with `fall_asleep` and `give_back`.
    return turn_.compare_exchange_strong(turn, kTaken, std::memory_order_acq_rel);
  }
  void give_back(os::Host& host) {
    if (turn_.exchange(kAsleep, std::memory_order_acq_rel) == kWanted) host.wake(turn_);
  }

 private:
  enum Turn : std::uint32_t {
    kAwake,
    kDrowsy,  ///< about to sleep: looks once more, is still at its own things
    kAsleep,
    kTaken,   ///< asleep, and somebody stands in
    kWanted,  ///< the same, but awake and waiting for its turn
  };

  os::Word& turn_;
};

}  // namespace grapnel::progress
