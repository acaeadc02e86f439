// One rank decides, all ranks know: what rank 0 alone can see (a file, a comparison) becomes everybody's answer.
//
// Without it ranks would disagree on whether the program goes on, and the rest would wait in a barrier for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "grapnel/runtime.hpp"

namespace lu {

struct Announcement {
  bool good = true;
  std::int64_t number = 0;
  double value = 0;
  /// Cut after about a thousand characters.
  std::string text;
};

/// Collective: every rank returns what rank 0 passed; the others' argument is ignored. Two barriers and one get.
grapnel::Result<Announcement> announce(grapnel::Runtime& runtime, const Announcement& from_rank_0);

}  // namespace lu
