// SPDX-License-Identifier: Apache-2.0
#include "rma/stripes.hpp"

namespace grapnel::rma {

Status StripeHolder::wait_for(os::Word& word) {
  // A waiter takes the word with the sleepers' bit set: it cannot know whether others sleep too, and one wake-up too
  // many costs less than one too few.
  const auto take_or_mark = [&](std::uint32_t& seen) {
    for (;;) {  // each turn saw another rank's change of the word
      if (seen == 0) {
        if (word.compare_exchange_strong(seen, mark_ | Stripes::kSleepers, std::memory_order_acquire)) return true;
      } else if ((seen & Stripes::kSleepers) != 0) {
        return false;
      } else if (word.compare_exchange_strong(seen, seen | Stripes::kSleepers, std::memory_order_relaxed)) {
        seen |= Stripes::kSleepers;
        return false;
      }
    }
  };
  return waiting_.on_word(word, take_or_mark, progress::Waiting::kForever, Stripes::kNap_ns, [] {
    return progress::WaitSubject{progress::WaitKind::stripe, "accumulate"};
  });
}

}  // namespace grapnel::rma
