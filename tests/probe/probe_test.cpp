// A layer from outside the tree becomes a service: nothing outside its folder and the array of services changes.
// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/access.hpp"
#include "harness/foundation.hpp"
#include "harness/world.hpp"

namespace grapnel::test {
namespace {

using probe::Probe;

runtime::ServiceTypes with_probe() {
  runtime::ServiceTypes services = runtime::standard_services();
  services.push_back(&probe::kService);
  return services;
}

// Each rank pings each node, and the ranks' steps are 1, 2, 3, …
void ping_all(sim::RankWorld& me, int size) {
  auto foundation = foundation_of(me);
  foundation.services = with_probe();
  foundation.config.change<probe::Settings>().step = index(me.rank) + 1;
  auto started = runtime::assemble(std::move(foundation));
  ASSERT_OK(started.status());
  Runtime& g = **started;
  auto& probe = g.implementation().core->service<Probe>();
  std::size_t before = 0;  // of the services that were opened first
  for (const core::ServiceType* type : runtime::standard_services()) before += type->handlers;
  EXPECT_EQ(probe.handler(), progress::kFirstServiceHandler + before);
  for (int node = 0; node < g.node_count(); ++node) EXPECT_OK(probe.ping(NodeId{node}));
  EXPECT_OK(g.barrier());
  EXPECT_EQ(probe.sum(), static_cast<std::uint64_t>(size * (size + 1) / 2));

  const auto counts = g.operation_counts();
  const auto row = std::find_if(counts.begin(), counts.end(), [](const auto& one) { return one.operation == "probe"; });
  ASSERT_NE(row, counts.end());
  EXPECT_EQ(row->shared_operations, 1U);
  EXPECT_EQ(row->wire_messages, static_cast<std::uint64_t>(g.node_count() - 1));
  EXPECT_OK(g.finish());
}

TEST(Probe, IsOpenedUsedAndCounted) {
  for (const auto& [ranks, nodes] : {std::pair{1, 1}, {3, 1}, {4, 2}, {7, 3}}) {
    const auto outcome =
        sim::run_world({.ranks = ranks, .nodes = nodes}, [ranks = ranks](sim::RankWorld& me) { ping_all(me, ranks); });
    EXPECT_TRUE(outcome.ok()) << outcome.report;
  }
}

TEST(Probe, ItsSettingIsReadAndListed) {
  const auto groups = runtime::settings_groups(with_probe());
  const auto lookup = [](const char* name) { return std::string(name) == "GRAPNEL_PROBE_STEP" ? "1001" : nullptr; };
  const auto refused = base::Config::from_environment(groups, lookup);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "GRAPNEL_PROBE_STEP=\"1001\" cannot be used; it takes 1..1000");
  const auto rows = base::Config(groups).rows();
  EXPECT_TRUE(
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.variable == "GRAPNEL_PROBE_STEP"; }));
}

TEST(Probe, ItsNodeMemoryIsCounted) {
  const launch::NodeMap nodes = launch::make_node_map({"here", "here"}, 1);
  std::size_t without = 0, with = 0;
  for (const auto need : runtime::node_memory_needs()) without += need(nodes, NodeId{0});
  for (const auto need : runtime::node_memory_needs(with_probe())) with += need(nodes, NodeId{0});
  EXPECT_EQ(with, without + 64);
}

}  // namespace
}  // namespace grapnel::test
