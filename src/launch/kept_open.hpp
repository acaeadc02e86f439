// Under hydra: what each rank keeps open of another rank of its node, so that a message names a death.
//
// hydra's proxy sends SIGKILL to all ranks as soon as an output pipe or the PMI-1 socket of one rank ends and that rank
// was killed; its own message names a process and no rank. The kernel closes these descriptors at a process's end,
// together with the connections that liveness.hpp watches, so the survivors have no time for a message. Therefore the
// next rank of the node holds copies of the three: the proxy sees no end until a survivor has written the message.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/descriptor.hpp"

namespace grapnel::launch {

class KeptOpen {
 public:
  /// Nothing is kept.
  KeptOpen() = default;
  /// Collective over the node's ranks, once they have mailboxes: each gives its standard output, standard error and
  /// PMI-1 socket to the next. Keeps nothing where hydra did not start the job, and on a node of one rank. Errors:
  /// those of Launch::receive_descriptor.
  static Result<KeptOpen> exchange(Launch& launch);

  bool active() const { return !descriptors_.empty(); }
  /// Closes the copies: the output of the rank that they belong to ends when its process ends.
  void close() { descriptors_.clear(); }

 private:
  std::vector<os::Descriptor> descriptors_;
};

}  // namespace grapnel::launch
