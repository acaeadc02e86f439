// Which transport, adapters and addresses a job uses between its nodes, and why.
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>

#include "os/interfaces.hpp"
#include "selftest/facts.hpp"
#include "transport/interfaces.hpp"

namespace grapnel::tool::selftest {
namespace {

std::string text_of(const os::Interface& one) {
  char address[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &one.address, address, sizeof address);
  return fmt::format("{} {}/{}", one.text(), address, std::popcount(one.mask));
}

// UCX's own words for what it may use.
std::string ucx_variables() {
  std::string text;
  for (const char* name : {"UCX_TLS", "UCX_NET_DEVICES", "GRAPNEL_TRANSPORT"}) {
    if (const char* value = std::getenv(name)) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

Row transport_row(const launch::NodeMap& nodes, const Result<runtime::ProtocolTable>& table) {
  Row row{.section = "network", .name = "transport"};
  const std::string set = ucx_variables();
  if (!table) {
    row.verdict = Verdict::wrong;
    row.found = table.status().message();
    row.remedy = set.empty()
                     ? "`grapnel info` lists the transports and devices of a machine; it must have one that leads "
                       "to the others"
                     : fmt::format(
                           "unset what chooses it ({}), or name transports and devices that `grapnel "
                           "info` lists on every machine, as in UCX_TLS=tcp",
                           set);
    return row;
  }
  row.found = table->transport;
  if (!set.empty()) {
    row.found += ", by " + set;
  } else {
    row.found +=
        nodes.one_machine() ? ", because all nodes are on one machine" : ", because there are several machines";
  }
  return row;
}

// "mlx5_0:1 by rc_mlx5, …"
std::string adapters_here() {
  const auto found = runtime::transports_found();
  if (!found) return "";
  std::string list;
  for (const auto& one : *found) {
    if (one.done_by != "network adapter") continue;
    list += fmt::format("{}{} by {}", list.empty() ? "" : ", ", one.device, one.name);
  }
  return list;
}

Row adapter_row(const std::string& adapters, bool one_machine, bool native) {
  Row row{.section = "network", .name = "adapters", .found = adapters};
  if (adapters.empty()) {
    row.verdict = Verdict::not_here;
    row.found = "none that puts and gets by itself: the target's server carries out every operation";
  } else if (!native && one_machine) {
    row.verdict = Verdict::not_here;
    row.found += ", not used between nodes of one machine unless UCX_TLS names it";
  } else if (!native) {
    row.verdict = Verdict::slow;
    row.found += ", and the chosen transport does not use them";
    row.remedy = "unset UCX_TLS, GRAPNEL_NATIVE_RMA and GRAPNEL_TRANSPORT, or name the adapter's transport in UCX_TLS";
  }
  return row;
}

Row address_row(const launch::NodeMap& nodes, const std::vector<std::string>& chosen) {
  Row row{.section = "network", .name = "addresses"};
  if (nodes.one_machine()) {
    row.verdict = Verdict::not_here;
    row.found = "all nodes are on one machine, and no address is used between them";
    return row;
  }
  std::string used, left;
  for (const os::Interface& one : os::network_interfaces()) {
    std::string& list = std::find(chosen.begin(), chosen.end(), one.text()) != chosen.end() ? used : left;
    list += (list.empty() ? "" : ", ") + text_of(one);
  }
  if (const char* devices = std::getenv("UCX_NET_DEVICES")) {
    row.found = fmt::format("UCX_NET_DEVICES={} chooses; without it: {}", devices, used.empty() ? "UCX" : used);
  } else if (chosen.empty()) {
    row.found = fmt::format("UCX chooses of {}: none has an address of its own", left.empty() ? "none" : left);
  } else {
    row.found = fmt::format("{}: in a network of every other machine, or an address that no other machine has", used);
    if (!left.empty()) row.found += "; not used: " + left;
  }
  return row;
}

Row congestion_row() {
  Row row{.section = "network", .name = "TCP congestion control"};
  std::ifstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  if (!(file >> row.found)) {
    row.verdict = Verdict::not_here;
    row.found = "unknown";
  } else if (row.found == "bbr") {
    row.verdict = Verdict::slow;
    row.found += ": it paces by what it has measured, and bulk data may take three times as long";
    row.remedy = "sysctl -w net.ipv4.tcp_congestion_control=cubic on every machine (docs/transport.md)";
  }
  return row;
}

}  // namespace

Result<NetworkFacts> network_facts(const base::Config& config, launch::Launch& launch) {
  const launch::NodeMap& nodes = launch.nodes();
  NetworkFacts facts;
  if (nodes.node_count() == 1) {
    facts.rows.push_back(
        {"network", "transport", "", Verdict::not_here, "one node: its ranks share memory, and nothing is sent"});
    return facts;
  }
  if (!nodes.one_machine()) {
    GRAPNEL_ASSIGN_OR_RETURN(auto agreed, transport::agree_on_interfaces(launch));
    facts.interfaces = std::move(agreed);
  }
  if (!launch.leads_node()) return facts;
  auto table = runtime::protocol_table(config, nodes, launch.node(), facts.interfaces);
  facts.rows.push_back(transport_row(nodes, table));
  facts.rows.push_back(address_row(nodes, facts.interfaces));
  facts.usable = table.ok();
  if (!table) return facts;
  const bool native = table->native;
  facts.protocols = *std::move(table);
  const std::string adapters = adapters_here();
  facts.rows.push_back(adapter_row(adapters, nodes.one_machine(), native));
  facts.has_adapter = native && !adapters.empty();
  if (!facts.has_adapter && !nodes.one_machine()) facts.rows.push_back(congestion_row());
  return facts;
}

}  // namespace grapnel::tool::selftest
