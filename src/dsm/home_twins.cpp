// SPDX-License-Identifier: Apache-2.0
#include "dsm/home_twins.hpp"

#include "base/check.hpp"
#include "dsm/diff.hpp"

namespace grapnel::dsm {

Result<bool> HomeTwins::try_begin(std::size_t page) {
  PageWords& words = memory_.words(page);
  if (words.served.load(std::memory_order_relaxed) != 0) return true;
  GRAPNEL_ASSIGN_OR_RETURN(const bool used, memory_.try_use_twin(page));
  if (!used || !words.try_take()) return false;
  // What this node has not used yet is zero, as its twin is.
  if (memory_.is_used(page)) copy_page(memory_.twin(page), memory_.page(page));
  words.give_back(host_);
  return true;
}

Result<bool> HomeTwins::try_apply(std::size_t page, ByteView diff) {
  PageWords& words = memory_.words(page);
  GRAPNEL_ASSIGN_OR_RETURN(const bool used, memory_.try_use_twin(page));
  if (!used || !words.try_take()) return false;
  GRAPNEL_ASSERT(memory_.is_used(page), "a diff is applied to page {}, which has no memory", page);
  apply_diff(memory_.page(page), diff);
  apply_diff(memory_.twin(page), diff);
  words.give_back(host_);
  return true;
}

Result<WordSet> HomeTwins::take_changes(std::size_t page, progress::Waiting& waiting) {
  PageWords& words = memory_.words(page);
  if (words.served.load(std::memory_order_acquire) == 0) return WordSet();
  GRAPNEL_TRY(memory_.use_page(page));
  GRAPNEL_TRY(memory_.use_twin(page));
  GRAPNEL_TRY(words.take(waiting, page));
  std::array<std::byte, kMostDiffBytes> diff;
  const std::size_t bytes = make_diff(memory_.page(page), memory_.twin(page), diff.data());
  words.give_back(host_);
  return bytes == 0 ? WordSet() : words_of_diff(ByteView(diff.data(), bytes));
}

}  // namespace grapnel::dsm
