#include "rma/stripes.hpp"

namespace grapnel::rma {

Status StripeHolder::wait_for(os::Word& word) {
  // A waiter takes the word with the sleepers' bit set: it cannot know whether others sleep too, and one wake-up too
  // many costs less than one too few.
  return waiting_.on_word(word, [&](std::uint32_t& seen) {
    if (seen == 0) return word.compare_exchange_strong(seen, mark_ | kSleepers, std::memory_order_acquire);
    if ((seen & kSleepers) == 0 && word.compare_exchange_strong(seen, seen | kSleepers, std::memory_order_relaxed)) {
      seen |= kSleepers;
    }
    return false;
  });
}

}  // namespace grapnel::rma
