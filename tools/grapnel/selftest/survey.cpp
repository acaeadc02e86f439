// SPDX-License-Identifier: Apache-2.0
#include "selftest/survey.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/codec.hpp"
#include "launch/settings.hpp"
#include "os/host.hpp"
#include "runtime/services.hpp"
#include "selftest/facts.hpp"
#include "selftest/host_name.hpp"
#include "selftest/lines.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr double kJoin_s = 20, kLook_s = 10, kConnect_s = 15, kTryNode_s = 9;
constexpr std::size_t kMostNodesNamed = 4, kMostNodesInMap = 8;

std::string text_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += encode(row) + "\n";
  return text;
}

std::string node_text(const launch::NodeMap& nodes, std::size_t node) {
  return nodes.one_machine() ? fmt::format("node {}", node)
                             : fmt::format("{} (node {})", host_of(nodes.machine_of[node]), node);
}

// Equal rows of several nodes become one.
class MergedRows {
 public:
  explicit MergedRows(const launch::NodeMap& nodes) : nodes_(nodes) {}

  void add(std::size_t node, const Row& row) {
    const std::string key = encode(row);
    if (nodes_of_.emplace(key, std::vector<std::size_t>()).second) order_.push_back(row);
    nodes_of_[key].push_back(node);
  }

  std::vector<Row> rows() const {
    std::vector<Row> all = order_;
    for (Row& row : all) {
      if (row.where.empty()) row.where = where_of(nodes_of_.at(encode(row)));
    }
    return all;
  }

 private:
  std::string where_of(const std::vector<std::size_t>& nodes) const {
    if (nodes.size() == nodes_.node_count()) return nodes.size() == 1 ? "node 0" : "all nodes";
    std::string text;
    for (std::size_t i = 0; i < nodes.size() && i < kMostNodesNamed; ++i) {
      text += (i == 0 ? "" : ", ") + node_text(nodes_, nodes[i]);
    }
    if (nodes.size() > kMostNodesNamed) text += fmt::format(" and {} more", nodes.size() - kMostNodesNamed);
    return text;
  }

  const launch::NodeMap& nodes_;
  std::map<std::string, std::vector<std::size_t>> nodes_of_;
  std::vector<Row> order_;
};

void send_map(const launch::Launch& launch) {
  const launch::NodeMap& nodes = launch.nodes();
  send_line(Line::Kind::job, {launch.description(), std::to_string(launch.size()), std::to_string(nodes.node_count())});
  std::string map;
  for (std::size_t node = 0; node < nodes.node_count() && node < kMostNodesInMap; ++node) {
    const auto& ranks = nodes.ranks_of[node];
    map += fmt::format("{}{}: {} of ranks {} to {}", map.empty() ? "" : "; ", node_text(nodes, node), ranks.size(),
                       index(ranks.front()), index(ranks.back()));
  }
  if (nodes.node_count() > kMostNodesInMap) map += fmt::format("; … {} nodes", nodes.node_count());
  send_row({"launcher", "launcher", "rank 0", Verdict::good, launch.description()});
  send_row({"launcher", "node map", "all ranks", Verdict::good, map});
}

struct Looked {
  NetworkFacts network;
  std::vector<Row> rows;
  std::optional<Bare> bare;
};

// What this node's leader finds; of the others nothing.
Result<Looked> look(const base::Config& config, launch::Launch& launch, Steps& steps) {
  Looked looked;
  const launch::NodeMap& nodes = launch.nodes();
  steps.begin("limits, transport and addresses", kLook_s);
  GRAPNEL_ASSIGN_OR_RETURN(looked.network, network_facts(config, launch));
  if (launch.leads_node()) looked.rows = limit_rows(config, nodes, launch.node(), looked.network.has_adapter);
  for (Row& row : looked.network.rows) looked.rows.push_back(std::move(row));
  if (nodes.node_count() == 1) return looked;
  steps.begin("connections between nodes", kConnect_s);
  GRAPNEL_ASSIGN_OR_RETURN(const auto reach, Reach::open(launch, looked.network.interfaces));
  for (Row& row : reach->connect(kTryNode_s)) {
    // An adapter needs no TCP between the machines.
    if (looked.network.has_adapter && row.verdict == Verdict::wrong) row.verdict = Verdict::not_here;
    looked.network.usable = looked.network.usable && row.verdict != Verdict::wrong;
    looked.rows.push_back(std::move(row));
  }
  looked.bare = index(launch.rank()) == 0 ? reach->measure() : std::nullopt;
  GRAPNEL_TRY(launch.fence());  // before it the servers of the connections must stay
  return looked;
}

// Rank 0 sends all nodes' rows. Whether the nodes can work together, as every rank knows it then.
Result<bool> agree(launch::Launch& launch, const Looked& looked) {
  const launch::NodeMap& nodes = launch.nodes();
  const std::string text = (looked.network.usable ? "y" : "n") + text_of(looked.rows);
  if (launch.leads_node()) GRAPNEL_TRY(launch.publish("selftest_rows", std::as_bytes(std::span(text))));
  GRAPNEL_TRY(launch.fence());
  bool usable = true;
  if (index(launch.rank()) == 0) {
    MergedRows merged(nodes);
    for (std::size_t node = 0; node < nodes.node_count(); ++node) {
      GRAPNEL_ASSIGN_OR_RETURN(const Bytes bytes,
                               launch.lookup(nodes.leader(NodeId(static_cast<int>(node))), "selftest_rows"));
      std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      usable = usable && rest.starts_with('y');
      for (rest.remove_prefix(1); !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
        if (const auto row = decode(rest.substr(0, rest.find('\n')))) merged.add(node, *row);
      }
    }
    for (const Row& row : merged.rows()) send_row(row);
    GRAPNEL_TRY(launch.publish("selftest_usable", base::bytes_of(usable)));
  }
  GRAPNEL_TRY(launch.fence());
  if (index(launch.rank()) == 0) return usable;
  GRAPNEL_ASSIGN_OR_RETURN(const Bytes bytes, launch.lookup(Rank{0}, "selftest_usable"));
  return base::Decoder(bytes).get<bool>().value_or(false);
}

}  // namespace

Result<Survey> survey(const base::Config& config, Steps& steps) {
  base::Config own = config;
  own.change<launch::Settings>().node_memory = runtime::node_memory_needs();
  const auto host = os::make_real_host();
  steps.begin("ranks meet", kJoin_s);
  GRAPNEL_ASSIGN_OR_RETURN(const auto launch, launch::join(own, *host));
  const launch::NodeMap& nodes = launch->nodes();
  bool leads_machine = launch->leads_node();
  for (std::size_t node = 0; node < index(launch->node()); ++node) {
    leads_machine = leads_machine && nodes.machine_of[node] != nodes.machine_of[index(launch->node())];
  }
  steps.know_rank(static_cast<int>(index(launch->rank())), leads_machine);
  if (index(launch->rank()) == 0) send_map(*launch);
  Survey result;
  GRAPNEL_ASSIGN_OR_RETURN(Looked looked, look(own, *launch, steps));
  GRAPNEL_ASSIGN_OR_RETURN(result.usable, agree(*launch, looked));
  result.protocols = std::move(looked.network.protocols);
  result.bare = looked.bare;
  GRAPNEL_TRY(launch->finalize());
  return result;
}

}  // namespace grapnel::tool::selftest
