// Whether the nodes reach each other by TCP, without Grapnel and without UCX; and what two of them do at best.
//
// Each node's leader listens at a port and connects to the others'. A connection that is accepted must lead to the
// right node: it answers with the number that the node has published.
//
// Threads: `Reach` is used by one thread; its listener's threads only answer what is sent to them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/launch.hpp"
#include "selftest/row.hpp"

namespace grapnel::tool::selftest {

/// What plain blocking sockets take between node 0 and node 1.
struct Bare {
  double round_trip_us = 0;  ///< 8 bytes there, 8 back
  double bulk_us = 0;        ///< kBulkBytes there, 8 back
};

class Reach {
 public:
  /// The longest block that the two ends exchange.
  static constexpr std::size_t kBulkBytes = std::size_t{512} << 10;

  /// Collective: a fence. `interfaces`: those of which the addresses are tried; empty: all. Leaders listen.
  static Result<std::unique_ptr<Reach>> open(launch::Launch& launch, const std::vector<std::string>& interfaces);
  virtual ~Reach() = default;

  /// Leaders: a row for every node that does not answer within `limit_s`, or one good row. Tries at most 32 nodes.
  virtual std::vector<Row> connect(double limit_s) = 0;
  /// Node 0's leader, after `connect`: with node 1; nothing where it did not answer.
  virtual std::optional<Bare> measure() = 0;
};

}  // namespace grapnel::tool::selftest
