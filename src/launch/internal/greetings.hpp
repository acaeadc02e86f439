// The leader's door at the start of a node: takes in the ranks of the node, in whatever order they connect, and turns
// all others away.
//
// All connections are listened to at once, each with a deadline of its own, so that a process that connects and sends
// nothing holds up no rank. One that is too many, or too late, or sends something else than a hello, is closed.
//
// Threads: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/host.hpp"
#include "os/stream.hpp"

namespace grapnel::launch {

class Greetings {
 public:
  struct Member {
    Rank rank{};
    os::Connection connection;
  };

  /// `expected`: the ranks that are to come.
  Greetings(os::Host& host, const os::Listener& listener, std::uint64_t secret, std::vector<Rank> expected)
      : host_(host), listener_(listener), secret_(secret), missing_(std::move(expected)) {}

  /// All of them, in the order in which they came. Errors: timed_out naming one that did not come, system.
  Result<std::vector<Member>> gather(std::uint64_t timeout_ns);

 private:
  struct Knock {
    os::Connection connection;
    std::uint64_t end_ns;
    bool has_news = true;  ///< a packet or the connection's end may be there
  };
  /// Sleeps until a connection or a packet is there, at most until `end_ns` or the first deadline.
  void sleep_until(std::uint64_t end_ns);
  Status accept_those_who_knock();
  void listen_to_those_who_knock();
  /// The rank that the packet on a connection names, rightly; nothing where it is another's.
  std::optional<Rank> rank_in(const Result<Bytes>& packet) const;

  os::Host& host_;
  const os::Listener& listener_;
  const std::uint64_t secret_;
  std::vector<Rank> missing_;
  std::vector<Knock> knocks_;  ///< the oldest first
  std::vector<Member> members_;
};

/// What a member sends first.
Status greet(const os::Connection& connection, std::uint64_t secret, Rank me, std::uint64_t timeout_ns);

}  // namespace grapnel::launch
