// Updates of this node's memory, stripe by stripe; used by local ranks (which wait) and the server (which does not).
//
// Threads: any. Invariant: an element is read, joined and written while its stripes are held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "base/check.hpp"
#include "grapnel/reduction.hpp"
#include "rma/internal/accumulation.hpp"
#include "rma/messages.hpp"
#include "rma/stripes.hpp"

namespace grapnel::rma {

/// The kernel of an update. Errors: invalid_argument (the type does not have the operation, or it works on absolute
/// values, which an update does not).
inline Result<Reduction> kernel_of(const Update& update) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto kernel, reduction(update.operation, update.number));
  if (kernel.prepare == nullptr) return kernel;
  return Status(Code::invalid_argument, std::string("update: ") + kernel.name + " is no update; it takes absolutes");
}

/// One run of elements in stripes that the caller holds. Operation::none does not read `source`; `old_elements` may be
/// null.
inline void update_run(const Update& update, const Reduction& kernel, std::byte* target, const std::byte* source,
                       std::byte* old_elements, std::size_t bytes) {
  GRAPNEL_ASSERT(bytes % kernel.element_bytes == 0, "{} bytes are no whole elements of {}", bytes,
                 kernel.element_bytes);
  if (old_elements != nullptr) std::memcpy(old_elements, target, bytes);
  if (update.operation != grapnel::Operation::none) kernel.join(target, source, bytes / kernel.element_bytes);
}

/// Waits for stripes. Errors: peer_dead.
inline Status update_waiting(StripeHolder& holder, const Update& update, const Reduction& kernel, std::byte* target,
                             const std::byte* source, std::byte* old_elements, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t run = stripe_run_bytes(target + done, bytes - done, kernel.element_bytes);
    GRAPNEL_TRY(holder.hold(target + done, run));
    update_run(update, kernel, target + done, source != nullptr ? source + done : nullptr,
               old_elements != nullptr ? old_elements + done : nullptr, run);
    done += run;
  }
  return {};
}

/// Updates from `done` on until all is done (true) or a stripe is taken (false); `done` is how far it got.
inline bool try_update(StripeHolder& holder, const Update& update, const Reduction& kernel, std::byte* target,
                       const std::byte* source, std::size_t bytes, std::uint64_t& done) {
  while (done < bytes) {
    const std::size_t run = stripe_run_bytes(target + done, bytes - done, kernel.element_bytes);
    if (!holder.try_hold(target + done, run)) return false;
    update_run(update, kernel, target + done, source + done, nullptr, run);
    done += run;
  }
  return true;
}

/// Replaces `bytes` (1, 2, 4 or 8) by the front of `desired` where they are the front of `expected`, in stripes that
/// the caller holds. The old bytes, in front of zeros.
inline std::uint64_t compare_held(std::byte* target, std::size_t bytes, std::uint64_t expected, std::uint64_t desired) {
  std::uint64_t old_value = 0;
  std::memcpy(&old_value, target, bytes);
  if (std::memcmp(&old_value, &expected, bytes) == 0) std::memcpy(target, &desired, bytes);
  return old_value;
}

}  // namespace grapnel::rma
