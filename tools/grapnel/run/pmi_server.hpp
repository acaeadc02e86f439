// The server of a job on this machine: what its ranks ask when they join, exchange values, meet in a barrier, or abort.
//
// It uses PMI-1, as MPICH's hydra does, over one pair of sockets per rank: there is no port and no name, so only a
// process that inherited a rank's socket can ask anything, and it asks as that rank. Grapnel's ranks use three requests
// more (launch/internal/pmi1_client.hpp), which an answer announces.
//
// It never waits: a rank that sends nothing, half a line, or what is no request at all keeps no other rank from being
// served. What a rank may leave here is bounded.
//
// Threads: the one that made it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/pmi1_protocol.hpp"
#include "os/descriptor.hpp"
#include "run/pmi_connection.hpp"
#include "run/pmi_store.hpp"

namespace grapnel::tool {

class PmiServer {
 public:
  struct AbortRequest {
    int rank;
    int exit_code;
    std::string why;
  };
  struct Counts {
    std::uint64_t messages = 0;  ///< requests of all ranks
    std::uint64_t most_of_a_rank = 0;
    std::uint64_t fences = 0;  ///< barriers that all ranks have passed
  };

  explicit PmiServer(int ranks);
  /// Errors: system.
  Status open();
  /// The next rank's end of its pair of sockets. Errors: system.
  Result<os::Descriptor> add_rank();

  /// For poll(): readable when `serve` has something to do.
  int number() const { return events_.number(); }
  void serve();
  /// All that `rank` has sent until now: its process has ended.
  void hear_out(int rank);

  /// The first request. Once.
  std::optional<AbortRequest> take_abort();

  /// True for a rank that has joined the job and not left it: its end is no good end, whatever its exit code.
  bool is_in_job(int rank) const;
  /// It has been in the job, if only for a while.
  bool has_joined(int rank) const { return of(rank).ever_joined; }
  bool anybody_in_job() const;
  /// A rank waits in a barrier for the others.
  bool anybody_waits() const { return arrived_ > 0; }
  /// A rank whose connection was closed because of what it sent; −1: none.
  int broken() const { return broken_; }
  const Counts& counts() const { return counts_; }

 private:
  enum class At { outside, barrier, fence };
  struct RankState {
    explicit RankState(os::Descriptor socket) : connection(std::move(socket)) {}
    PmiConnection connection;
    bool asked_init = false;  ///< by its last request
    int others = 0;           ///< an MPI has said init and not finalize
    int jobs = 0;             ///< of Grapnel, joined and not left
    bool ever_joined = false;
    bool skips = false;                    ///< the lines of a request that is refused
    std::optional<std::size_t> announced;  ///< bytes of a fence that have not all come
    Bytes published;                       ///< for the fence that it waits in
    At at = At::outside;
    std::uint64_t messages = 0;
  };

  const RankState& of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void serve_rank(int rank);
  /// True when there may be another request.
  bool take_request(int rank);
  void on_line(int rank, const std::string& line);
  void on_request(int rank, const launch::Pmi1Message& request);
  bool on_grapnels(int rank, const launch::Pmi1Message& request);
  bool on_question(int rank, const launch::Pmi1Message& request);
  void on_abort(int rank, const launch::Pmi1Message& request);
  void arrive(int rank, At at);
  void release();
  /// Closes the connection of a rank that sent what is no request.
  void turn_away(int rank, const std::string& why);
  void forget(int rank);
  void listen_to(int rank);

  const int size_;
  os::Descriptor events_;  ///< epoll
  std::vector<RankState> ranks_;
  PmiStore store_;
  int arrived_ = 0;
  int broken_ = -1;
  std::optional<AbortRequest> abort_;
  Counts counts_;
};

}  // namespace grapnel::tool
