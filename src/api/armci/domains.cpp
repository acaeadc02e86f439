// Which ranks share a node. There is one kind of domain, the node; virtual nodes count as nodes.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"

using grapnel::Code;
using grapnel::index;
using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

Status check_domain(armci_domain_t domain) {
  if (domain == ARMCI_DOMAIN_SMP) return {};
  return {Code::invalid_argument,
          fmt::format("domain is {}; ARMCI_DOMAIN_SMP ({}) is the only one", domain, ARMCI_DOMAIN_SMP)};
}

Result<int> node_of(const Job& job, int proc) {
  if (proc < 0 || proc >= job.ranks) return bad_rank(proc, job.ranks);
  return static_cast<int>(index(job.runtime->node_of(Rank{proc})));
}

/// The ranks of node `id`, ascending; of mine where `id` is below 0.
Result<std::vector<int>> ranks_of(const Job& job, int id) {
  if (id >= job.runtime->node_count()) {
    return Status(Code::invalid_argument, fmt::format("id {} is outside 0..{}", id, job.runtime->node_count() - 1));
  }
  const int node = id < 0 ? *node_of(job, job.me) : id;
  std::vector<int> ranks;
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (*node_of(job, rank) == node) ranks.push_back(rank);
  }
  return ranks;
}

/// 1 or 0.
Result<int> on_my_node(const Job& job, int proc) {
  const auto node = node_of(job, proc);
  return node.ok() ? Result<int>(*node == *node_of(job, job.me)) : node;
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE_LOWER(int, domain_count, (armci_domain_t domain)) {
  return value_of("armci_domain_count", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    return job.runtime->node_count();
  });
}

ARMCI_DEFINE_LOWER(int, domain_id, (armci_domain_t domain, int proc)) {
  return value_of("armci_domain_id", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    return node_of(job, proc);
  });
}

ARMCI_DEFINE_LOWER(int, domain_my_id, (armci_domain_t domain)) {
  return value_of("armci_domain_my_id", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    return node_of(job, job.me);
  });
}

ARMCI_DEFINE_LOWER(int, domain_same_id, (armci_domain_t domain, int proc)) {
  return value_of("armci_domain_same_id", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    return on_my_node(job, proc);
  });
}

ARMCI_DEFINE_LOWER(int, domain_nprocs, (armci_domain_t domain, int id)) {
  return value_of("armci_domain_nprocs", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of(job, id));
    return static_cast<int>(ranks.size());
  });
}

ARMCI_DEFINE_LOWER(int, domain_glob_proc_id, (armci_domain_t domain, int id, int local_rank)) {
  return value_of("armci_domain_glob_proc_id", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(check_domain(domain));
    GRAPNEL_ASSIGN_OR_RETURN(const auto ranks, ranks_of(job, id));
    if (local_rank < 0 || local_rank >= static_cast<int>(ranks.size())) {
      return bad_rank(local_rank, static_cast<long>(ranks.size()));
    }
    return ranks[static_cast<std::size_t>(local_rank)];
  });
}

ARMCI_DEFINE(int, Same_node, (int proc)) {
  return value_of("ARMCI_Same_node", [&](Job& job) { return on_my_node(job, proc); });
}

ARMCI_DEFINE_LOWER(int, sameclusnode, (int proc)) {
  return value_of("armci_sameclusnode", [&](Job& job) { return on_my_node(job, proc); });
}
