// The findings of a report: a kind and a sentence for each of the pages that cost most.
//
//   false_sharing   several nodes write different bytes of the page in the same eras, or in turn
//   true_sharing    several nodes write the same bytes
//   wrong_home      one node alone writes the page, and another keeps it
//   read_by_many    several nodes fetch what one node writes, or none does
//   read_by_one     one node fetches it
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsm/sharing.hpp"

namespace grapnel::dsm {

enum class Pattern { false_sharing, true_sharing, wrong_home, read_by_many, read_by_one };
const char* name_of(Pattern pattern);

struct Finding {
  std::uint32_t page = 0;
  Pattern pattern{};
  std::uint64_t fetches = 0, diffs = 0;
  std::string sentence;
};

inline constexpr std::size_t kMostFindings = 20;

/// The pages with most fetches and diffs, the most expensive one first; none of those that no node fetched.
std::vector<Finding> find(const Sharing& sharing, std::size_t most = kMostFindings);

}  // namespace grapnel::dsm
