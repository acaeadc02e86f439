// What the ranks of a job on this machine do: found and asked over their status sockets, and put into lines.
//
// A rank knows what it waits for and what it holds; which rank holds the lock that another one waits for, or is missing
// at a barrier, follows from the answers of all. Nothing is changed by asking.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::runtime {

/// Ranks as runs: first and last of each.
using Runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// What one rank answers.
struct RankStatus {
  std::uint32_t rank = 0, size = 0, node = 0, nodes = 0;
  std::int32_t process = 0;
  std::string host;
  Runs on_machine;  ///< all ranks of this machine

  std::uint32_t waiting_threads = 0;
  std::uint8_t kind = 0;  ///< progress::WaitKind of the longest wait
  std::string call;
  std::uint64_t what[3] = {};
  Runs members;
  bool more_members = false;
  std::uint64_t waited_ns = 0;

  struct Lock {
    std::uint64_t set;
    std::int32_t index, home;
    std::uint64_t shared;
  };
  std::vector<Lock> held;
  std::uint64_t more_held = 0;
  struct Outstanding {
    std::uint32_t node;
    std::uint64_t requests;
  };
  std::vector<Outstanding> outstanding;

  bool has_server = false, server_asleep = false;
  std::uint64_t handled = 0, parked = 0, refused = 0;

  Bytes encode() const;
  static Result<RankStatus> decode(ByteView bytes);
};

/// A process that has a status socket.
struct RankProcess {
  std::string name;  ///< the socket's
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  int process = 0;
};
/// All of this network namespace, of any user. Errors: unavailable.
Result<std::vector<RankProcess>> rank_processes();
/// Those of the jobs of which `process` is a rank or an ancestor (a launcher) of one.
std::vector<RankProcess> of_job(const std::vector<RankProcess>& all, int process);

/// What the processes answered; empty where one did not within a second. Those of other users are left out.
struct Answers {
  std::vector<RankProcess> processes;
  std::vector<std::optional<RankStatus>> statuses;
};
/// `reporter`: the rank whose report covers what they wait for now. `meanwhile` runs every few milliseconds.
Answers ask(const std::vector<RankProcess>& processes, std::optional<std::uint32_t> reporter = {},
            const std::function<void()>& meanwhile = {});

/// Of each job one line for each rank of this machine and for each node's server, newlines included.
std::string describe(const Answers& answers);

}  // namespace grapnel::runtime
