// SPDX-License-Identifier: Apache-2.0
#include "transport/choice.hpp"

#include <cstdlib>

#include "transport/local/local_transport.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace grapnel::transport {

Result<TransportKind> choose_transport(TransportKind wanted, const launch::NodeMap& nodes) {
  switch (wanted) {
    case TransportKind::sim:
      return Status(Code::unavailable,
                    "GRAPNEL_TRANSPORT=sim joins ranks of one process; separate processes need auto, local or ucx");
    case TransportKind::local:
      if (nodes.one_machine()) return wanted;
      return Status(Code::unavailable,
                    "GRAPNEL_TRANSPORT=local joins nodes of one machine, and this job has several machines (or network "
                    "namespaces); set auto or ucx");
    case TransportKind::automatic:
      return nodes.one_machine() && std::getenv("UCX_TLS") == nullptr ? TransportKind::local : TransportKind::ucx;
    case TransportKind::ucx: break;
  }
  return wanted;
}

Result<std::unique_ptr<Transport>> make_transport(const base::Config& config, const launch::NodeMap& nodes, NodeId me,
                                                  std::uint64_t secret, const std::vector<std::string>& interfaces) {
  const auto kind = choose_transport(config.get<Settings>().kind, nodes);
  if (!kind) return kind.status();
  if (*kind == TransportKind::local) return make_local_transport(secret);
  return make_ucx_transport(config, nodes, me, secret, interfaces);
}

}  // namespace grapnel::transport
