// The conformance suite over UCX, in threads and in processes and over several of its transports; and what only UCX
// has.
// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "transport/conformance.hpp"
#include "transport/process_peers.hpp"
#include "transport/settings.hpp"
#include "transport/thread_peers.hpp"
#include "transport/ucx/ucx_capabilities.hpp"
#include "transport/ucx/ucx_settings.hpp"
#include "transport/wire.hpp"

namespace grapnel::testing {
namespace {

using transport::ucx::NativeWay;

launch::NodeMap nodes_on(const std::vector<std::string>& machines) {
  launch::NodeMap nodes;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    nodes.node_of.push_back(NodeId{static_cast<std::int32_t>(i)});
    nodes.ranks_of.push_back({Rank{static_cast<std::int32_t>(i)}});
  }
  nodes.machine_of = machines;
  return nodes;
}

Result<std::unique_ptr<transport::Transport>> make_transport(int index, int count) {
  const auto nodes = nodes_on(std::vector<std::string>(static_cast<std::size_t>(count), "here"));
  return transport::make_ucx_transport(base::Config{}, nodes, NodeId{index}, 1);
}

PeerGroupFactory threads() {
  return [] { return make_thread_peers(make_transport); };
}
PeerGroupFactory processes(std::vector<std::string> settings) {
  return [settings = std::move(settings)] { return make_process_peers(make_transport, settings); };
}

INSTANTIATE_TEST_SUITE_P(UcxThreads, TransportConformance, ::testing::Values(threads()));
INSTANTIATE_TEST_SUITE_P(UcxProcesses, TransportConformance, ::testing::Values(processes({})));
INSTANTIATE_TEST_SUITE_P(UcxPosixCma, TransportConformance, ::testing::Values(processes({"UCX_TLS=posix,cma"})));
INSTANTIATE_TEST_SUITE_P(UcxTcpCma, TransportConformance, ::testing::Values(processes({"UCX_TLS=tcp,cma"})));
// What a user may have set for the program's MPI: rendezvous for everything, two rails, UCX's own segment sizes.
INSTANTIATE_TEST_SUITE_P(UcxUserSettings, TransportConformance,
                         ::testing::Values(processes({"UCX_RNDV_THRESH=0", "UCX_MAX_EAGER_RAILS=2",
                                                      "UCX_ZCOPY_THRESH=1", "UCX_TCP_RX_SEG_SIZE=16k",
                                                      "UCX_TCP_TX_SEG_SIZE=4k"})));

std::vector<transport::TransportRow> rows_of(const std::vector<std::pair<std::string, std::string>>& devices) {
  std::vector<transport::TransportRow> rows;
  for (const auto& [name, device] : devices) rows.push_back({.name = name, .device = device, .how = {}});
  return rows;
}

std::string change(const transport::ucx::UcxSettings& settings, const std::string& name) {
  for (const auto& [key, value] : settings.changes) {
    if (key == name) return value;
  }
  return {};
}

class UcxSettings : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("UCX_TLS") != nullptr) GTEST_SKIP() << "UCX_TLS is set: the user's choice wins";
  }
  transport::ucx::UcxSettings choose(const std::vector<std::string>& machines) {
    return transport::ucx::choose_settings(config_, nodes_on(machines), rows_);
  }
  base::Config config_;
  std::vector<transport::TransportRow> rows_ =
      rows_of({{"self", "memory0"}, {"tcp", "lo"}, {"tcp", "eth0"}, {"posix", "memory"}, {"cma", "memory"}});
};

TEST_F(UcxSettings, OneMachineTalksOverLoopback) {
  const auto settings = choose({"a", "a"});
  EXPECT_EQ(settings.transports, "tcp");
  EXPECT_EQ(change(settings, "TLS"), "tcp");
  EXPECT_EQ(change(settings, "ZCOPY_THRESH"), "inf");
  EXPECT_EQ(change(settings, "NET_DEVICES"), std::getenv("UCX_NET_DEVICES") == nullptr ? "lo" : "");
  EXPECT_EQ(settings.native, NativeWay::none);
  EXPECT_TRUE(settings.detects_dead_peers);
}

TEST_F(UcxSettings, ATransportThatNobodyKnowsCountsOnlyWhereItIsUsed) {
  rows_.push_back({.name = "new_copy", .device = "new", .how = {}});
  EXPECT_TRUE(choose({"a", "a"}).leaves_in_turn);
  EXPECT_FALSE(choose({"a", "b"}).leaves_in_turn);
}

TEST_F(UcxSettings, SeveralMachinesTakeWhatTheyHaveExceptSharedMemory) {
  auto settings = choose({"a", "b"});
  EXPECT_EQ(settings.transports, "^shm");
  EXPECT_EQ(change(settings, "NET_DEVICES"), "");
  EXPECT_EQ(settings.native, NativeWay::none);
  rows_.push_back({.name = "rc_verbs", .device = "rxe0:1", .how = {}});
  settings = choose({"a", "b"});
  EXPECT_EQ(settings.native, NativeWay::adapter);
  EXPECT_EQ(change(settings, "ZCOPY_THRESH"), "");  // an adapter sends from the caller's memory
  EXPECT_TRUE(settings.detects_dead_peers);
  config_.change<transport::Settings>().native_rma = false;
  EXPECT_EQ(choose({"a", "b"}).native, NativeWay::none);
}

TEST(UcxCapabilities, TheListOfTransportsIsReadAsUcxReadsIt) {
  const auto& tcp = *transport::ucx::find_fact("tcp");
  const auto& posix = *transport::ucx::find_fact("posix");
  const auto& mlx5 = *transport::ucx::find_fact("rc_mlx5");
  using transport::ucx::selects;
  EXPECT_TRUE(selects("all", tcp));
  EXPECT_TRUE(selects("posix,tcp", tcp));
  EXPECT_FALSE(selects("posix,cma", tcp));
  EXPECT_TRUE(selects("sm,self", posix));
  EXPECT_FALSE(selects("^shm", posix));
  EXPECT_TRUE(selects("^shm", tcp));
  EXPECT_TRUE(selects("rc,ud", mlx5));
  EXPECT_TRUE(selects("ib", mlx5));
  EXPECT_FALSE(selects("rc_verbs", mlx5));
  EXPECT_EQ(transport::ucx::find_fact("tc"), nullptr);
}

TEST(UcxCapabilities, DescribesTheTransportsOfThisMachine) {
  const auto rows = transport::describe_transports();
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  bool loopback = false;
  for (const auto& row : *rows) {
    EXPECT_FALSE(row.how.empty());
    if (row.name == "tcp" && row.device == "lo") loopback = row.detects_dead_peers && !row.native_put;
  }
  EXPECT_TRUE(loopback) << "UCX finds no tcp on lo";
}

TEST(UcxTransport, MemoryIsRegisteredOnlyWhereItHelps) {
  auto transport = make_transport(0, 2);
  ASSERT_TRUE(transport.ok()) << transport.status().to_string();
  if ((*transport)->capabilities().native_put) GTEST_SKIP() << "UCX_TLS gives native puts";
  Bytes memory(64);
  EXPECT_EQ((*transport)->register_memory(memory, transport::Access::copies).status().code(), Code::unavailable);
}

TEST(UcxTransportDeathTest, OversizedMessagesAreOurBug) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  static const std::byte kNothing{};  // a refused payload is not looked at
  const auto send = [](std::size_t header, std::size_t payload) {
    auto transport = make_transport(0, 2);
    Mailbox mailbox;
    auto worker = (*transport)->create_worker(mailbox);
    const auto endpoint = (*worker)->connect((*worker)->address());
    (void)(*worker)->send(*endpoint, Bytes(header), ByteView(&kNothing, payload), {});
  };
  EXPECT_DEATH(send(transport::kMaxHeaderBytes + 1, 0), "a header of 513 bytes");
  EXPECT_DEATH(send(0, transport::kMaxBulkBytes + 1), "a payload of 1073741825 bytes");
}

TEST(UcxTransport, AWorkerMayConnectToItself) {
  auto transport = make_transport(0, 2);
  ASSERT_TRUE(transport.ok());
  Mailbox mailbox;
  auto worker = (*transport)->create_worker(mailbox);
  ASSERT_TRUE(worker.ok());
  const auto endpoint = (*worker)->connect((*worker)->address());
  ASSERT_TRUE(endpoint.ok());
  ASSERT_TRUE((*worker)->send(*endpoint, number(5), {}, {}).ok());
  for (int i = 0; i < 1'000'000 && mailbox.arrived == 0; ++i) (*worker)->progress();
  ASSERT_EQ(mailbox.letters.size(), 1U);
  ASSERT_TRUE((*worker)->reply(mailbox.letters[0].reply_path, number(6), {}, {}).ok());
  for (int i = 0; i < 1'000'000 && mailbox.arrived == 1; ++i) (*worker)->progress();
  EXPECT_EQ(mailbox.arrived, 2U);
}

// The contract allows one pending flush per endpoint; this transport joins more of them, so that UCX's 8-bit count of
// flushes never overflows.
TEST(UcxTransport, ManyFlushesOfOneEndpointAreJoined) {
  auto transport = make_transport(0, 2);
  ASSERT_TRUE(transport.ok());
  Mailbox mailbox;
  auto from = (*transport)->create_worker(mailbox);
  auto to = (*transport)->create_worker(mailbox);
  ASSERT_TRUE(from.ok() && to.ok());
  const auto endpoint = (*from)->connect((*to)->address());
  ASSERT_TRUE(endpoint.ok());
  const Bytes payload(transport::kMaxPayloadBytes);
  std::vector<Tracked> flushes(600);
  for (Tracked& flush : flushes) {
    ASSERT_TRUE((*from)->send(*endpoint, number(1), payload, {}).ok());
    const auto started = (*from)->flush(*endpoint, flush.completion());
    ASSERT_TRUE(started.ok());
    flush.done = *started == Sent::done;
  }
  const auto all_ended = [&] {
    return std::all_of(flushes.begin(), flushes.end(), [](const Tracked& flush) { return flush.ended(); });
  };
  for (int i = 0; i < 10'000'000 && !(all_ended() && mailbox.arrived == flushes.size()); ++i) {
    (*from)->progress();
    (*to)->progress();
  }
  EXPECT_EQ(mailbox.arrived, flushes.size());
  for (const Tracked& flush : flushes) EXPECT_EQ(flush.told, flush.done ? 0 : 1);
}

// A worker that greets without the job's secret gets no way back, and no rank learns of its messages.
TEST(UcxTransport, WorkersOfAnotherJobAreIgnored) {
  auto transport = make_transport(0, 2);
  auto other = transport::make_ucx_transport(base::Config{}, nodes_on({"here", "here"}), NodeId{1}, 2);
  ASSERT_TRUE(transport.ok() && other.ok());
  Mailbox mailbox, unused;
  auto worker = (*transport)->create_worker(mailbox);
  auto friendly = (*transport)->create_worker(unused);
  auto foreign = (*other)->create_worker(unused);
  ASSERT_TRUE(worker.ok() && friendly.ok() && foreign.ok());
  for (auto* sender : {&foreign, &friendly}) {
    const auto endpoint = (**sender)->connect((*worker)->address());
    ASSERT_TRUE(endpoint.ok());
    ASSERT_TRUE((**sender)->send(*endpoint, number(sender == &friendly ? 1 : 2), {}, {}).ok());
  }
  const auto progress = [&] { (*worker)->progress(), (*friendly)->progress(), (*foreign)->progress(); };
  for (int i = 0; i < 1'000'000 && mailbox.arrived == 0; ++i) progress();
  for (int i = 0; i < 10'000; ++i) progress();
  ASSERT_EQ(mailbox.letters.size(), 1U);
  EXPECT_EQ(mailbox.letters[0].header, number(1));
}

// Active messages of another UCP program: no hello, no way back. UCX does not initialize id 0; it drops ids from 4 on,
// with a warning each.
TEST(UcxTransport, MessagesThatAreNoneOfOursAreIgnored) {
  auto transport = make_transport(0, 2);
  ASSERT_TRUE(transport.ok());
  Mailbox mailbox;
  auto worker = (*transport)->create_worker(mailbox);
  ASSERT_TRUE(worker.ok());
  const Bytes address = (*worker)->address();
  base::Decoder decoder(address);
  ASSERT_TRUE(decoder.get<os::ProcessName>());
  const auto ucp_address = decoder.get_string();
  ASSERT_TRUE(ucp_address);
  const Bytes header(600), payload(200'000);
  for (unsigned id = 0; id < 4; ++id) {
    SCOPED_TRACE(id);
    const auto foreign = make_bare_wire({{"TLS", "tcp"}, {"NET_DEVICES", "lo"}}, id);
    foreign->connect(*ucp_address);
    foreign->send(header, payload);
    foreign->send({}, {});
    foreign->send(ByteView(header).first(512), ByteView(payload).first(64));
    for (int i = 0; i < 100'000; ++i) {
      foreign->progress();
      (*worker)->progress();
    }
    EXPECT_EQ(foreign->under_way(), 0U);
    EXPECT_EQ(mailbox.arrived, 0U);
  }
}

}  // namespace
}  // namespace grapnel::testing
