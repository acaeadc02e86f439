// The kinds of locks and their names.
// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/armci_hybrid.hpp"
#include "locks/kinds/cohort.hpp"
#include "locks/kinds/mcs.hpp"
#include "locks/kinds/network_mcs.hpp"
#include "locks/kinds/network_test_and_set.hpp"
#include "locks/kinds/network_ticket.hpp"
#include "locks/kinds/reader_writer.hpp"
#include "locks/kinds/server_queue.hpp"
#include "locks/kinds/shared_mode.hpp"
#include "locks/kinds/test_and_set.hpp"
#include "locks/kinds/ticket.hpp"
#include "locks/lock_set.hpp"

namespace grapnel {

const char* to_string(LockKind kind) {
  switch (kind) {
    case LockKind::standard: return "standard";
    case LockKind::server_queue: return "server_queue";
    case LockKind::ticket: return "ticket";
    case LockKind::armci_hybrid: return "armci_hybrid";
    case LockKind::test_and_set: return "test_and_set";
    case LockKind::mcs: return "mcs";
    case LockKind::mcs_by_cas: return "mcs_by_cas";
    case LockKind::cohort: return "cohort";
    case LockKind::reader_writer: return "reader_writer";
  }
  return "?";
}

}  // namespace grapnel

namespace grapnel::locks {
namespace {

std::unique_ptr<Algorithm> exclusive(LockContext& context) {
  switch (context.options.kind) {
    case LockKind::server_queue:
      if (context.one_node) return std::make_unique<Ticket>(context);
      return std::make_unique<ServerQueue>(context);
    case LockKind::ticket: return std::make_unique<Ticket>(context);
    case LockKind::armci_hybrid: return std::make_unique<ArmciHybrid>(context);
    case LockKind::test_and_set: return std::make_unique<TestAndSet>(context);
    case LockKind::mcs: return std::make_unique<Mcs>(context, true);
    case LockKind::mcs_by_cas: return std::make_unique<Mcs>(context, false);
    case LockKind::reader_writer: return std::make_unique<ReaderWriter>(context);
    case LockKind::standard:  // the caller has put the configured kind in its place
    case LockKind::cohort: break;
  }
  return std::make_unique<Cohort>(context);
}

std::unique_ptr<Algorithm> in_network(LockContext& context) {
  switch (context.options.kind) {
    case LockKind::test_and_set: return std::make_unique<NetworkTestAndSet>(context);
    case LockKind::ticket: return std::make_unique<NetworkTicket>(context);
    default: return std::make_unique<NetworkMcs>(context);  // Locks::with_settings refuses all but mcs_by_cas
  }
}

}  // namespace

std::unique_ptr<Algorithm> make_algorithm(LockContext& context) {
  if (context.options.domain == AtomicDomain::network) return in_network(context);
  std::unique_ptr<Algorithm> algorithm = exclusive(context);
  if (!LockContext::counts_readers(context.options)) return algorithm;
  return std::make_unique<SharedMode>(context, std::move(algorithm));
}

}  // namespace grapnel::locks
