// A rank's identity is one process's at a time.
//
// A program that a rank starts (system(), a script with `&`) inherits the variables and the socket by which that rank
// joined. Without this it would join as the same rank, and both would wait for ever. So a process that joins claims the
// identity first, and the kernel holds the claim for it until it leaves the job or ends, however it ends:
//   - where the launcher has PMI-1, a record lock on the socket PMI_FD;
//   - where it has PMIx, a listening socket under a name made of namespace, rank and server; another user's under
//     that name is no claim.
//
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "grapnel/status.hpp"
#include "launch/launcher_signs.hpp"
#include "os/descriptor.hpp"

namespace grapnel::launch {

class IdentityClaim {
 public:
  /// The process that has the identity.
  struct Holder {
    int process = 0;          ///< 0: it is not visible from here (another process namespace)
    bool started_us = false;  ///< it is an ancestor of this process
  };

  /// Claims what `signs` name for this process. The answer is the process that was quicker, if another one was.
  std::optional<Holder> take(const LauncherSigns& signs);
  void release() { claim_.reset(); }

 private:
  std::optional<Holder> lock_socket(int number);
  std::optional<Holder> take_name(const LauncherSigns& signs);

  os::Descriptor claim_;  ///< the listening socket, or a copy of PMI_FD; closing it ends the claim
};

/// The error of the second process where the first did not start it.
Status identity_is_taken(const IdentityClaim::Holder& holder);

}  // namespace grapnel::launch
