// What the launches of real processes have in common: introductions, node map, node memory, pool, descriptors, health,
// the watcher.
//
// `pmix`, `pmi1`, `mpi` and `single` add how values are exchanged and how the job ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.hpp"
#include "launch/internal/identity_claim.hpp"
#include "launch/internal/node_link.hpp"
#include "launch/launch.hpp"
#include "launch/settings.hpp"

namespace grapnel::launch {

/// What each rank sends to all others at start.
struct Introduction {
  std::string build;  ///< base::build_name(); where it is another one, what follows it cannot be read
  std::string machine;
  std::string mailbox_name;
  std::string listener_name;
  std::uint64_t secret = 0;  ///< rank 0's becomes the job's
  int virtual_nodes = 0;     ///< GRAPNEL_NODES as this rank has it; all must, or they would see different nodes
  std::string settings;      ///< base::Config::alike()

  Bytes encode() const;
  static Result<Introduction> decode(ByteView bytes);
};

/// By rank. ok where all ranks have one build and, of the settings that must be equal, the same; else an error that
/// names the first rank that differs from rank 0, its host, and what both have.
Status check_alike(const std::vector<Introduction>& everybody);

/// One line "grapnel: …" on stderr, whatever GRAPNEL_LOG is: why the job ends.
void tell(std::string_view text);

class NodeLaunch : public Launch {
 public:
  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes_.node_of.size()); }
  const NodeMap& nodes() const override { return nodes_; }
  std::uint64_t job_secret() const override { return job_secret_; }
  NodeMemory& node_memory() override { return link_->memory(); }
  os::AddressPool& pool() override { return link_->pool(); }
  Status send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) override;
  Result<os::Descriptor> receive_descriptor(std::uint64_t tag) override;
  Status health() override;
  std::optional<Rank> dead() const override;
  void at_death(const std::function<void(Rank)>& tell) override;
  void use_status(StatusHooks&& hooks) override;
  void serve_status() override;
  const StatusSocket* status_socket() const override { return status_.get(); }

 protected:
  explicit NodeLaunch(os::Host& host) : host_(host) {}

  /// From now on this process is the rank. Errors: unavailable, where another process is.
  Status claim_identity();

  /// Collective over the job: every rank's introduction by publish, fence and lookup, which must work by now; then node
  /// map, node memory and pool.
  Status meet(const base::Config& config, Rank me, int size);

  /// Starts the watcher, which calls `end_job` after a death that the launcher does not answer (liveness.hpp).
  Status watch(Liveness::EndJob end_job, Liveness::LauncherSocket launcher = {});

  /// A failed or interrupted call of the launcher is mostly the first sign of a death; the watcher knows its name a
  /// moment later. Waits for that moment; answers the death, or `failure` when there is none.
  Status death_or(Status failure);

  /// From now on a rank of this node that sees our end need not report why. True: none had reported before.
  bool announce();
  /// For an abort, whether its message is to be printed: not where a rank of this node has reported a death, of which
  /// the abort is a consequence. Then that message has had time to be heard when this returns.
  bool announce_abort();

  /// Gives the launcher a moment to pass on the message that this rank has just printed, lets `tell_launcher` run for a
  /// second at most, as launchers can hang, and exits.
  [[noreturn]] void leave_after(int exit_code, const std::function<void()>& tell_launcher);

  os::Host& host_;
  IdentityClaim claim_;  ///< until the job is left
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<StatusSocket> status_;  ///< likewise; null where it could not be opened. Outlives the watcher
  std::unique_ptr<Liveness> liveness_;    ///< once `watch` has succeeded

 private:
  /// Collective over the node: node map, node memory and pool from what all ranks sent.
  Status settle(const base::Config& config, std::vector<Introduction> everybody, NodeEndpoints doors);

  Rank rank_{};
  NodeMap nodes_;
  std::uint64_t job_secret_ = 0;
};

}  // namespace grapnel::launch
