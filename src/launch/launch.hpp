// The job and its ranks: rank, size, node map; exchange of small values; the node's shared memory; liveness.
//
// Implementations: `pmix` (any PMIx launcher: `grapnel run`, mpirun, srun), `pmi1` (MPICH's mpiexec), `mpi` (over a
// communicator, mpi/join.hpp), `single` (no launcher: one rank), `inproc` (N ranks as threads of one process, for the
// simulator and the thread sanitizer). Everything here is for start-up, allocation and the end of the job; nothing on a
// communication path calls it, but for `health`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/status_socket.hpp"
#include "os/address_pool.hpp"
#include "os/descriptor.hpp"
#include "os/host.hpp"

namespace grapnel::launch {

/// Which rank sits where. Nodes are numbered in the order of their lowest rank; ranks of a node ascend.
struct NodeMap {
  std::vector<NodeId> node_of;              ///< by rank
  std::vector<std::vector<Rank>> ranks_of;  ///< by node; [0] is the node's leader, whose process runs the server
  std::vector<std::string> machine_of;      ///< by node: a machine's identity (host name, boot id, network namespace)

  std::size_t node_count() const { return ranks_of.size(); }
  Rank leader(NodeId node) const { return ranks_of[index(node)].front(); }
  /// True when every node is on one machine, so that loopback carries everything.
  bool one_machine() const;
  std::size_t ranks_on_machine_of(NodeId node) const;
};

/// Splits each machine's ranks into `virtual_nodes` contiguous blocks, the first (n mod k) one larger; 0 or 1: one node
/// per machine; more than the machine has ranks: one rank each. `machine_of_rank` holds each rank's machine identity.
NodeMap make_node_map(const std::vector<std::string>& machine_of_rank, int virtual_nodes);

/// By rank: its place among the ranks of its node.
std::vector<std::size_t> places_in_nodes(const NodeMap& nodes);

/// How many bytes of node memory a layer carves, of the node of a job.
using NodeMemoryNeed = std::size_t (*)(const NodeMap& nodes, NodeId node);

/// The small memory that the ranks of a node share for the runtime's own words; zero at start. Layers carve their parts
/// in the same order in every rank (the order of construction in `runtime`), so each finds the same words.
class NodeMemory {
 public:
  /// The sum of the layers' needs, and a little for words that no need counts.
  static std::size_t bytes_for(const NodeMap& nodes, NodeId node, std::span<const NodeMemoryNeed> needs);

  explicit NodeMemory(ByteSpan bytes) : bytes_(bytes) {}
  /// `count` objects at a cache line of their own. They must be usable as zero bytes (atomics, plain structures).
  template <typename T>
  std::span<T> carve(std::size_t count) {
    return {static_cast<T*>(carve_bytes(count * sizeof(T))), count};
  }

 private:
  void* carve_bytes(std::size_t bytes);
  ByteSpan bytes_;
  std::size_t used_ = 0;
};

class Launch {
 public:
  virtual ~Launch() = default;

  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual const NodeMap& nodes() const = 0;
  /// The same random number in every rank of the job; names the job in every message.
  virtual std::uint64_t job_secret() const = 0;
  /// "pmix (mpirun)", "single", … for `grapnel info`.
  virtual std::string description() const = 0;

  NodeId node() const { return nodes().node_of[index(rank())]; }
  bool leads_node() const { return nodes().leader(node()) == rank(); }

  /// Makes `value` readable for the others under (my rank, key) once they and I have passed `fence`.
  virtual Status publish(std::string_view key, ByteView value) = 0;
  /// Collective over all ranks: what was published before is readable after. Cost: a launcher's barrier (about 1 ms).
  virtual Status fence() = 0;
  virtual Result<Bytes> lookup(Rank rank, std::string_view key) = 0;

  /// This node's words. Own it for as long as the job lasts.
  virtual NodeMemory& node_memory() = 0;
  /// The node's agreed range of addresses for segments.
  virtual os::AddressPool& pool() = 0;

  /// Hands a descriptor to another rank of this node under a tag that both know; returns when it is under way.
  virtual Status send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) = 0;
  /// Waits for the descriptor that a rank of this node sends under `tag`; those with other tags are kept for later
  /// calls. Errors: peer_dead, timed_out after 30 s.
  virtual Result<os::Descriptor> receive_descriptor(std::uint64_t tag) = 0;

  /// ok, or peer_dead: a rank of this node died (named), or the launcher is gone. One load; any thread.
  virtual Status health() = 0;
  /// The dead rank, where `health` answers a death and this node knows whose. One load; any thread.
  virtual std::optional<Rank> dead() const { return {}; }
  /// From now on `tell` runs, in a thread of its own and at once, when a rank of this node dies: in the leader's
  /// process, or, when it was the leader, in all others'. The job continues for a moment only. Empty: no more, once it
  /// returns.
  virtual void at_death(const std::function<void(Rank)>&) {}

  /// From now on the watcher thread answers by `hooks` what this rank does (status_socket.hpp). Empty: no more, once it
  /// returns. Nothing where there is no watcher.
  virtual void use_status(StatusHooks&&) {}
  /// The job's name in its status sockets' names.
  std::uint64_t status_name() const { return status_tag(job_secret()); }
  /// In the watcher thread, for a hook that takes long: answers those that wait for an answer.
  virtual void serve_status() {}
  /// From a signal handler too; null where there is no watcher.
  virtual const StatusSocket* status_socket() const { return nullptr; }

  /// Ends the whole job with `why` as its one message. Does not return.
  [[noreturn]] virtual void abort(int exit_code, const std::string& why) = 0;

  /// Collective: announces the end, so that this process's end is no death. Nothing else may be called afterwards.
  virtual Status finalize() = 0;
};

/// Finds the launcher that started this process and joins the job: PMIx where its variables are set, else PMI-1
/// over PMI_FD, else `single`.
/// Errors: unavailable when there are signs of a launcher that cannot be used, saying which.
Result<std::unique_ptr<Launch>> join(const base::Config& config, os::Host& host);

}  // namespace grapnel::launch
