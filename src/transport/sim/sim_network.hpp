// The simulated network: what lies between the workers of one process, and how it misbehaves.
//
// The test owns it and gives every rank a Transport. Each misbehaviour is an option with a probability, drawn from
// generators that are seeded by (seed, rank, worker): under a seeded scheduler the same seed gives the same traffic;
// free-running, delays run in real time and every structure is guarded.
//
// What it keeps (the contract): messages of one connection and direction arrive once and in order, unless it is cut.
// What it breaks as much as it may: order between connections; order of native operations against messages and one
// another; a put lands as late as its flush; a message stays in the sender until the sender makes progress.
//
// Threads: any, for every call here. The network outlives its transports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "os/host.hpp"
#include "transport/sim/sim_link.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport::sim {

struct NetworkOptions {
  std::uint64_t seed = 1;

  std::uint64_t delay_ns = base::kMicrosecond_ns;  ///< every message and each way of a native operation takes this …
  std::uint64_t jitter_ns = 0;                     ///< … and up to this much more
  double reorder_probability = 0;                  ///< that a message or native operation is late by up to `reorder_ns`
  std::uint64_t reorder_ns = 100 * base::kMicrosecond_ns;

  double stall_probability = 0;         ///< that a message holds up its connection for up to `stall_max_ns`
  double worker_stall_probability = 0;  ///< that a `progress` finds its worker deaf for up to `stall_max_ns`
  std::uint64_t stall_max_ns = 500 * base::kMicrosecond_ns;

  double pending_probability = 0;          ///< that a message stays in the sender for 1 to 3 calls of its `progress`
  std::size_t in_flight_bytes = SIZE_MAX;  ///< of a connection and direction; what is beyond stays in the sender
  std::uint32_t max_batch = 8;             ///< messages that one `progress` delivers at most

  double cut_probability = 0;      ///< that a message is the last but some of its connection
  bool detects_dead_peers = true;  ///< else endpoints to the dead swallow everything, as shared memory does

  bool native_put = false;
  bool native_get = false;
  bool native_atomics = false;        ///< fetch_add and compare_swap, and no swap
  double lazy_put_probability = 0.5;  ///< that a put does not land before a flush asks for it
  bool tear_native = true;            ///< operations of 16 bytes and more happen in two steps
};

/// Both directions of one connection, as the side that connected sees them.
struct Traffic {
  Rank from, to;
  EndpointId endpoint;                            ///< of `from`
  std::uint64_t messages = 0, message_bytes = 0;  ///< sent on the endpoint (header and payload)
  std::uint64_t replies = 0, reply_bytes = 0;     ///< along the way back
  std::uint64_t puts = 0, put_bytes = 0, gets = 0, get_bytes = 0, atomics = 0;
};

/// An atomic on its way to the adapter of the target's node, or executed there.
struct AdapterAtomic {
  const Connection* connection = nullptr;
  Atomic what;
  std::uint64_t region = 0;
  std::uintptr_t address = 0;
  // Written by the thread that executes it; read by its worker when the answer is due, which is later.
  bool executed = false;  ///< else the connection was cut before, or the memory is no longer registered
  std::uint64_t old_value = 0;
};

class SimNetwork {
 public:
  explicit SimNetwork(const NetworkOptions& options);
  ~SimNetwork();
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;

  /// The transport of one rank. `host` and the network outlive it.
  std::unique_ptr<Transport> make_transport(Rank rank, os::Host& host);

  /// Fails every connection that two ranks have now, a little later; what is on its way may or may not arrive.
  void cut(Rank one, Rank other, os::Host& host);
  /// A rank's process is gone: all its connections fail and its workers hear nothing any more.
  void kill(Rank rank, os::Host& host);

  /// By the order of connecting. Exact when no worker sends at the moment.
  std::vector<Traffic> traffic() const;
  std::uint64_t messages() const;  ///< sent by all workers, replies included

  const NetworkOptions& options() const { return options_; }

  // What transports and workers are made of.
  Mailbox* add_mailbox(Rank rank);
  Mailbox* find_mailbox(std::uint64_t id) const;
  Connection* add_connection(Mailbox& from, Mailbox& to, EndpointId endpoint);
  /// A worker is gone: what it sent arrives, then its connections fail.
  void close_mailbox(Mailbox& mailbox, os::Host& host);
  /// Fails a connection at `at_ns` (once; the earlier cut holds) and wakes both ends.
  void fail(Connection& connection, std::uint64_t at_ns, os::Host& host);
  /// Changes with every cut, so that workers need not look at all their connections all the time.
  std::uint64_t cuts() const { return cuts_.load(std::memory_order_acquire); }

  /// The adapters: what was posted is executed in the order of the times due, by the first thread of any rank whose
  /// worker looks afterwards. So neither the target's tasks nor the origin's are needed for it.
  void post(std::shared_ptr<AdapterAtomic> atomic, std::uint64_t due_ns);
  void run_adapters(std::uint64_t now_ns);

  std::uint64_t add_region(ByteSpan memory);
  void remove_region(std::uint64_t id);
  /// Runs `copy(address)` while the region cannot go away; false when [address, +bytes) does not lie in it.
  template <typename Copy>
  bool with_region(std::uint64_t id, std::uintptr_t address, std::size_t bytes, Copy copy) {
    const base::MutexLock lock(regions_mutex_);
    if (!covers(id, address, bytes)) return false;
    copy(reinterpret_cast<std::byte*>(address));
    return true;
  }

 private:
  bool covers(std::uint64_t id, std::uintptr_t address, std::size_t bytes) const GRAPNEL_REQUIRES(regions_mutex_);
  template <typename When>
  void fail_where(os::Host& host, When when);
  void execute(AdapterAtomic& atomic, std::uint64_t due_ns);

  const NetworkOptions options_;
  std::atomic<std::uint64_t> cuts_{0};
  mutable base::Mutex mutex_;  ///< never held across a call of a Host
  std::deque<std::unique_ptr<Mailbox>> mailboxes_
      GRAPNEL_GUARDED_BY(mutex_);  ///< by id; they live as long as the network, so that
  std::deque<std::unique_ptr<Connection>> connections_
      GRAPNEL_GUARDED_BY(mutex_);  ///< no thread can reach into a freed one
  base::Mutex adapters_mutex_;
  std::multimap<std::uint64_t, std::shared_ptr<AdapterAtomic>> posted_ GRAPNEL_GUARDED_BY(adapters_mutex_);
  base::Mutex regions_mutex_;
  std::map<std::uint64_t, ByteSpan> regions_ GRAPNEL_GUARDED_BY(regions_mutex_);
  std::uint64_t next_region_ GRAPNEL_GUARDED_BY(regions_mutex_) = 1;
};

}  // namespace grapnel::transport::sim
