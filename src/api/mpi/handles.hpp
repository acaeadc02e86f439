// Taken windows by their handle, which is a window of the host.
//
// For each window each rank makes a carrier: a window of the host of no bytes, over a communicator of its own. Its
// handle is the window's handle; so names, attributes, their callbacks, error handlers and Fortran handles are the
// host's own. No operation uses a carrier. Calls for which a carrier has the wrong answer take it from `Taken`.
// Threads: `find` any, without a lock; `add` and `remove` one at a time.
// Cost: the window that the thread used last: two loads and two compares; else a probe of a hash table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "api/mpi/handle_table.hpp"
#include "base/mutex.hpp"
#include "window/window.hpp"

namespace grapnel::front {

/// A window that was taken from the host.
struct Taken {
  MPI_Win handle = MPI_WIN_NULL;  ///< the carrier
  std::shared_ptr<window::Window> window;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm meeting = MPI_COMM_NULL;  ///< of the window's group, with MPI_THREAD_MULTIPLE: for its fences and its end
  // Predefined attributes: MPI hands out their addresses.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_UNIFIED;
  std::map<std::string, std::string> info;  ///< hints in force
};

class Handles {
 public:
  /// Null: the host's.
  Taken* find(MPI_Win handle) const {
    // acquire: a window that this thread remembers was not freed since.
    const std::uint64_t change = changes_.load(std::memory_order_acquire);
    if (last_.change == change && last_.handle == handle) return last_.taken;
    return find_other(handle, change);
  }
  void add(std::unique_ptr<Taken> taken);
  /// It lives on for as long as the caller keeps it.
  std::unique_ptr<Taken> remove(Taken* taken);
  ~Handles();

 private:
  struct Last {
    std::uint64_t change;
    MPI_Win handle;
    Taken* taken;
  };
  Taken* find_other(MPI_Win handle, std::uint64_t change) const;

  [[gnu::tls_model("initial-exec")]] static constinit thread_local Last last_;
  std::atomic<std::uint64_t> changes_{1};  ///< 0: what no thread remembers
  base::Mutex mutex_;                      ///< of writers
  HandleTable<MPI_Win, Taken> table_;
};

/// A carrier, or the host's error. Counted by the host among its windows.
int make_carrier(MPI_Comm self, MPI_Win* carrier);

}  // namespace grapnel::front
