// Which interfaces a job between machines uses.
// SPDX-License-Identifier: Apache-2.0
#include "transport/interfaces.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace grapnel::testing {
namespace {

using Machine = std::vector<os::Interface>;
using Names = std::vector<std::string>;

os::Interface interface(std::string_view name, const char* address, const char* mask) {
  os::Interface one;
  std::copy(name.begin(), name.end(), one.name.begin());
  one.address = ::inet_addr(address);
  one.mask = ::inet_addr(mask);
  return one;
}
os::Interface docker() { return interface("docker0", "172.17.0.1", "255.255.0.0"); }
os::Interface eth(const char* address) { return interface("eth0", address, "255.255.255.0"); }

TEST(Interfaces, ABridgeThatEveryMachineHasIsLeftOut) {
  EXPECT_EQ(transport::choose_interfaces({docker(), eth("10.0.0.1")}, {Machine{eth("10.0.0.2"), docker()}}),
            Names{"eth0"});
}

TEST(Interfaces, ABridgeOfAnotherNetworkIsLeftOut) {
  const auto here = interface("virbr0", "172.20.0.1", "255.255.0.0");
  const auto there = interface("virbr0", "172.21.0.1", "255.255.0.0");
  EXPECT_EQ(transport::choose_interfaces({here, eth("10.0.0.1")}, {Machine{there, eth("10.0.0.2")}}), Names{"eth0"});
}

TEST(Interfaces, RoutedNetworksStay) {
  EXPECT_EQ(transport::choose_interfaces({docker(), eth("10.0.0.1")}, {Machine{docker(), eth("10.0.1.1")}}),
            Names{"eth0"});
  // One of two is near, the other behind a router: the interface of the near one may not be the way to both.
  const auto fast = interface("ib0", "192.168.0.1", "255.255.255.0");
  const auto near = interface("ib0", "192.168.0.2", "255.255.255.0");
  EXPECT_EQ(
      transport::choose_interfaces({fast, eth("10.0.0.1")}, {Machine{near, eth("10.0.1.1")}, Machine{eth("10.0.2.1")}}),
      (Names{"ib0", "eth0"}));
}

TEST(Interfaces, WhereNothingIsLeftNoChoiceIsMade) {
  // Two containers on one host's network.
  EXPECT_EQ(transport::choose_interfaces({eth("10.0.0.1")}, {Machine{eth("10.0.0.1")}}), Names{});
  EXPECT_EQ(transport::choose_interfaces({}, {Machine{}}), Names{});
}

TEST(Interfaces, LoopbackIsNone) {
  for (const os::Interface& one : os::network_interfaces()) EXPECT_NE(one.text(), "lo");
}

}  // namespace
}  // namespace grapnel::testing
