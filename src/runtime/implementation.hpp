// What a Runtime holds: the layers of one rank, in the order in which they are built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "base/config.hpp"
#include "collective/collectives.hpp"
#include "core/core.hpp"
#include "exchange/group_exchange.hpp"
#include "exchange/letters.hpp"
#include "grapnel/runtime.hpp"
#include "launch/launch.hpp"
#include "locks/locks.hpp"
#include "os/host.hpp"
#include "progress/client.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"
#include "rma/rma.hpp"
#include "runtime/assembly.hpp"
#include "runtime/internal/rank_reports.hpp"
#include "runtime/settings.hpp"
#include "segment/segment.hpp"
#include "sync/barrier.hpp"
#include "sync/notifications.hpp"
#include "transport/transport.hpp"

namespace grapnel {

/// The members' order is the layers' order; destruction is in the opposite order. Every rank of a node builds them in
/// the same order, so their words lie at the same places of the node memory.
class Runtime::Implementation {
 public:
  static Result<std::unique_ptr<Implementation>> build(runtime::Foundation foundation);
  ~Implementation();

  Status finish();
  Result<Memory> allocate(const Group& group, std::size_t bytes, AtomicDomain domain);
  Status free(const Group& group, const Memory& memory);
  Result<std::vector<Bytes>> allgather(const Group& group, ByteView mine);
  // lock_sets.cpp
  Result<LockSet> create_lock_set(const Group& group, int count, const LockOptions& options);
  Status destroy_lock_set(const LockSet& set);
  Status create_locks(int count, const LockOptions& options);
  Status destroy_locks();
  std::vector<OperationCount> operation_counts() const;
  /// What is inside; an error for the group without members.
  static Result<const launch::Group*> sound(const Group& group, const char* what);

  base::Config config;
  std::shared_ptr<os::Host> host;
  std::shared_ptr<launch::Launch> launch;
  Group world;
  std::unique_ptr<progress::Waiting> waiting;
  // Null in a job of one node: no transport, no server, no client.
  std::shared_ptr<transport::Transport> transport;
  std::unique_ptr<progress::Server> server;  ///< only in the process of the node's leader
  std::unique_ptr<progress::Client> client;
  std::unique_ptr<exchange::Letters> letters;
  std::unique_ptr<exchange::GroupExchange> exchange;
  std::unique_ptr<segment::SegmentTable> segments;
  std::unique_ptr<core::Core> core;
  std::vector<std::unique_ptr<core::Service>> services;
  // Of `services`: those that the C++ interface is made of.
  rma::Rma* rma = nullptr;
  sync::Barriers* barriers = nullptr;
  locks::Locks* locks = nullptr;
  sync::Notifications* notifications = nullptr;
  collective::Collectives* collectives = nullptr;
  LockSet default_locks;
  std::unique_ptr<runtime::RankReports> reports;  ///< null before the start and after the end

 private:
  Implementation() = default;
  Status compare_settings();
  Status connect_nodes(const runtime::Foundation& foundation);
  Result<std::vector<progress::ServerDescription>> exchange_servers();
  Status open_services(const runtime::ServiceTypes& types);
  Status start_server();
  Status complete_services();
  void close_services();
  void print_statistics();

  bool finished_ = false;
};

}  // namespace grapnel
