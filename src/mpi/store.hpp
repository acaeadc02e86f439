// The launcher's key store over a communicator: publish collects, fence is an allgather of what was collected.
//
// Waits for MPI by MPI_Test with growing pauses, so that a death ends them and more ranks than cores do not spin.
// Threads: one, the one that calls MPI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/codec.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/host.hpp"

namespace grapnel::mpi {

class Store {
 public:
  /// Collective over `comm`: duplicates it.
  Status open(MPI_Comm comm);
  /// Collective; only while MPI lives.
  Status close();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void publish(std::string_view key, ByteView value);
  /// Collective. `health` is asked between the looks; its failure ends the wait. Errors: its, system (MPI's), refused
  /// (2 GiB or more published for one fence).
  Status fence(os::Host& host, const std::function<Status()>& health);
  Result<Bytes> lookup(Rank rank, std::string_view key) const;

 private:
  struct Round;
  Status exchange_sizes(Round& round, os::Host& host, const std::function<Status()>& health);
  Status exchange_values(Round& round, os::Host& host, const std::function<Status()>& health);
  Status keep(const Round& round);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  base::Encoder pending_;  ///< (key, value) pairs since the last fence
  std::map<std::pair<int, std::string>, Bytes> values_;
};

}  // namespace grapnel::mpi
