// One collective call, as the speaker of a node sees it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/call.hpp"
#include "grapnel/types.hpp"

namespace grapnel::collective {

struct Speakers {
  Call call;
  std::uint64_t group = 0;     ///< key
  std::uint64_t sequence = 0;  ///< which of the group's calls
  std::vector<Rank> ranks;     ///< one of each of the group's nodes, in the order of nodes
  std::size_t me = 0;          ///< my place among them
  std::uint32_t step = 0;      ///< the next one; the same in all

  std::size_t size() const { return ranks.size(); }
};

}  // namespace grapnel::collective
