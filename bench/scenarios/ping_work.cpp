// The network by itself: a datagram between the hosts of ranks 0 and 1, while every other rank sleeps.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "limits/ping_pong.h"
#include "pairs.hpp"
#include "scenarios/sync_work.hpp"

namespace grapnel::bench {
namespace {

[[noreturn]] void fail_ping(const char* what) { fail(Status(Code::system, what)); }

// Rank 1's, told to all.
limit_address address_of_target(Session& s, const limit_address& mine) {
  const auto all = s.g.allgather(s.g.world(), ByteView(reinterpret_cast<const std::byte*>(&mine), sizeof mine));
  if (!all) fail(all.status());
  limit_address target{};
  std::memcpy(&target, (*all)[index(Session::kTarget)].data(), sizeof target);
  return target;
}

}  // namespace

std::uint64_t ping_pong(Session& s, const SyncWork& work) {
  limit_address mine{};
  const int socket = limit_ping_open(&mine);
  if (socket < 0) fail_ping("no socket for datagrams, or this host's name has no address");
  const limit_address target = address_of_target(s, mine);
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  s.board.gather(ranks, 0);
  std::uint64_t begin_ns = 0;
  int outcome = 0;
  if (index(s.g.rank()) == 0) {
    outcome = limit_ping(socket, &target, 1);  // the hosts find each other
    begin_ns = now_ns();
    if (outcome == 0) outcome = limit_ping(socket, &target, work.operations);
  } else if (s.g.rank() == Session::kTarget) {
    outcome = limit_pong(socket, work.operations + 1);
  }
  const std::uint64_t time_ns = now_ns() - begin_ns;
  limit_ping_close(socket);
  if (outcome != 0) fail_ping("no datagram came for seconds");
  s.board.gather(ranks, 0);
  return time_ns / work.operations;
}

}  // namespace grapnel::bench
