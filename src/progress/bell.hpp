// How a rank tells its own node's server that there is work in node memory.
//
// The rank writes the work, then rings; a server that is awake looks at the work between its messages and needs no
// ringing. One that sleeps does so in its transport, so it is woken there: by `Worker::wake` in its own process, by a
// message without content from another one.
//
//   rank:    work (seq_cst store) ─▶ asleep? ─▶ wake the server
//   server:  asleep = 1 (seq_cst) ─▶ look at the work once more ─▶ sleep ─▶ asleep = 0
//
// Either the rank sees `asleep` or the server sees the work. Threads: any.
#pragma once

#include "launch/launch.hpp"
#include "os/host.hpp"

namespace grapnel::progress {

class Bell {
 public:
  /// Collective in the order of carving.
  explicit Bell(launch::Launch& launch) : asleep_(launch.node_memory().carve<os::Word>(1).front()) {}

  /// After the work was stored (seq_cst): whether the server must be woken.
  bool must_wake() const { return asleep_.load(std::memory_order_seq_cst) != 0; }
  void set_asleep(bool asleep) { asleep_.store(asleep ? 1 : 0, std::memory_order_seq_cst); }

 private:
  os::Word& asleep_;
};

}  // namespace grapnel::progress
