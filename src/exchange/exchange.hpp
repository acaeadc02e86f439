// The interface of an exchange. Tests of the layers above pass their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/group.hpp"

namespace grapnel::exchange {

class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Collective: every member gives some bytes and gets the bytes of all members, by group index. The calls of one
  /// group are matched by their order. Errors: peer_dead, invalid_argument (too long), system (malformed bytes).
  virtual Result<std::vector<Bytes>> allgather(const launch::Group& group, ByteView mine) = 0;
};

}  // namespace grapnel::exchange
