// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "transport/ucx/ucx_status.hpp"

namespace grapnel::transport::ucx {
namespace {

bool user_sets(const char* variable) { return std::getenv(variable) != nullptr; }

// Up to 1.16 a transport's own setting is named without the transport's prefix, from 1.17 on with it; the wrong one is
// ignored with a warning on stderr.
bool names_carry_transport() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return major > 1 || minor >= 17;
}

// Both or none: UCX refuses to receive in shorter segments than it sends.
void choose_tcp_segments(UcxSettings& settings) {
  if (user_sets("UCX_TCP_RX_SEG_SIZE") || user_sets("UCX_TCP_TX_SEG_SIZE")) return;
  const std::string prefix = names_carry_transport() ? "TCP_" : "";
  settings.changes.emplace_back(prefix + "RX_SEG_SIZE", "72k");
  settings.changes.emplace_back(prefix + "TX_SEG_SIZE", "72k");
}

// Else UCX's connect(2) blocks its thread, the server's too, until the peer's kernel answers: behind a firewall that
// drops, two minutes.
void choose_tcp_connecting(UcxSettings& settings) {
  if (user_sets("UCX_TCP_CONN_NB")) return;
  settings.changes.emplace_back(names_carry_transport() ? "TCP_CONN_NB" : "CONN_NB", "y");
}

// Where a peer dies while messages of several segments wait to be sent to it from the caller's memory, UCX 1.13 aborts
// ("comp->count > 0"). From UCX's own buffers they do not.
void choose_tcp_copies(UcxSettings& settings) {
  if (!user_sets("UCX_ZCOPY_THRESH")) settings.changes.emplace_back("ZCOPY_THRESH", "inf");
}

void choose_transports(UcxSettings& settings, bool one_machine, const std::vector<TransportRow>& rows) {
  if (const char* chosen = std::getenv("UCX_TLS")) {
    settings.transports = chosen;
    return;
  }
  // Between machines, shared memory between virtual nodes of one machine would be a second kind of path, without death
  // notices.
  settings.transports = one_machine ? "tcp" : "^shm";
  settings.changes.emplace_back("TLS", settings.transports);
  const bool has_loopback =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.name == "tcp" && row.device == "lo"; });
  if (one_machine && has_loopback && !user_sets("UCX_NET_DEVICES")) settings.changes.emplace_back("NET_DEVICES", "lo");
}

}  // namespace

UcxSettings choose_settings(const base::Config& config, const launch::NodeMap& nodes,
                            const std::vector<TransportRow>& rows) {
  UcxSettings settings;
  const bool one_machine = nodes.one_machine();
  choose_transports(settings, one_machine, rows);

  bool adapter = false;
  bool process_copy = false;
  bool tcp = false;
  bool shared_memory = false;
  for (const TransportRow& row : rows) {
    // Of an unknown one nothing is taken for granted.
    const TransportFact unknown{row.name, "", false, NativeWay::none, false, false, ""};
    const TransportFact* const known = find_fact(row.name);
    const TransportFact* const fact = known != nullptr ? known : &unknown;
    if (!selects(settings.transports, *fact) || (fact->within_machine && !one_machine)) continue;
    tcp |= fact->name == "tcp";
    shared_memory |= fact->within_machine && fact->name != "self";
    adapter |= fact->native == NativeWay::adapter;
    process_copy |= fact->native == NativeWay::process_copy;
    settings.detects_dead_peers |= fact->detects_dead_peers;
    if (fact->detects_dead_peers && fact->name != "tcp") settings.error_mode = UCP_ERR_HANDLING_MODE_PEER;
    settings.leaves_in_turn &= fact->leaves_in_turn;
  }
  if (config.get<transport::Settings>().native_rma && (adapter || process_copy)) {
    settings.native = adapter ? NativeWay::adapter : NativeWay::process_copy;
  }
  // One rail: several would deliver one endpoint's messages out of order. It is the default, which a user's variable
  // for the program's MPI must not change for us.
  settings.changes.emplace_back("MAX_EAGER_RAILS", "1");
  // A flush of the worker then only looks whether the transmit side is empty (UcxWorker::transmit_side_is_empty).
  settings.changes.emplace_back("FLUSH_WORKER_EPS", "n");
  // A worker that ends while cma copies a rendezvous aborts in UCX 1.13.
  if (shared_memory && !user_sets("UCX_RNDV_SCHEME")) settings.changes.emplace_back("RNDV_SCHEME", "am");
  if (tcp) choose_tcp_segments(settings);
  if (tcp) choose_tcp_connecting(settings);
  if (tcp && !adapter) choose_tcp_copies(settings);
  return settings;
}

void choose_devices(UcxSettings& settings, const std::vector<TransportRow>& rows,
                    const std::vector<std::string>& interfaces) {
  if (const char* const chosen = std::getenv("UCX_NET_DEVICES")) {
    settings.over = fmt::format(" (over UCX_NET_DEVICES={})", chosen);
    return;
  }
  std::vector<std::string> devices;
  bool tcp = false;
  for (const TransportRow& row : rows) {
    const TransportFact* const known = find_fact(row.name);
    if (known == nullptr || known->within_machine) continue;
    const bool named = std::find(interfaces.begin(), interfaces.end(), row.device) != interfaces.end();
    if (row.name == "tcp" && !named) continue;
    tcp |= named;
    if (std::find(devices.begin(), devices.end(), row.device) == devices.end()) devices.push_back(row.device);
  }
  if (!tcp) return;  // none that UCX knows: its own choice
  const std::string list = fmt::format("{}", fmt::join(devices, ","));
  settings.changes.emplace_back("NET_DEVICES", list);
  settings.over = fmt::format(" (over {}; set UCX_NET_DEVICES to choose other interfaces)", list);
}

bool is_chosen_device(std::string_view device) {
  const char* const chosen = std::getenv("UCX_NET_DEVICES");
  if (chosen == nullptr) return true;
  std::string_view list = chosen;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == device || one == "all") return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

Status with_devices(const Status& failure, const std::vector<TransportRow>& rows) {
  const char* const chosen = std::getenv("UCX_NET_DEVICES");
  if (chosen == nullptr) return failure;
  std::vector<std::string> devices;
  for (const TransportRow& row : rows) {
    const TransportFact* const known = find_fact(row.name);
    const bool new_one = std::find(devices.begin(), devices.end(), row.device) == devices.end();
    if (known != nullptr && !known->within_machine && new_one) devices.push_back(row.device);
  }
  return {failure.code(), fmt::format("{}; UCX_NET_DEVICES={} is set, and the devices here are: {}", failure.message(),
                                      chosen, fmt::join(devices, ", "))};
}

Result<ucp_config_t*> make_ucx_config(const UcxSettings& settings) {
  ucp_config_t* config = nullptr;
  GRAPNEL_TRY(to_local_status(ucp_config_read(nullptr, nullptr, &config), "read its configuration"));
  for (const auto& [name, value] : settings.changes) {
    const ucs_status_t status = ucp_config_modify(config, name.c_str(), value.c_str());
    if (status != UCS_OK) {
      ucp_config_release(config);
      return to_status(status, fmt::format("set {} to {}", name, value));
    }
  }
  return config;
}

}  // namespace grapnel::transport::ucx
