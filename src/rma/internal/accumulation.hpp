// Accumulate into this node's memory, stripe by stripe; used by local ranks (which wait) and the server (which does
// not).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "rma/kernels/accumulate.hpp"
#include "rma/messages.hpp"
#include "rma/stripes.hpp"

namespace grapnel::rma {

/// The factor 1 of a type: where an accumulate without a scale points. A complex 1 has no imaginary part.
inline const void* one_as_bytes(ElementType type) {
  static constexpr std::int32_t kInt32 = 1;
  static constexpr std::int64_t kInt64 = 1;
  static constexpr float kFloat32[2] = {1, 0};
  static constexpr double kFloat64[2] = {1, 0};
  switch (type) {
    case ElementType::int32: return &kInt32;
    case ElementType::int64:
    case ElementType::xor64: return &kInt64;
    case ElementType::float32:
    case ElementType::complex64: return kFloat32;
    case ElementType::float64:
    case ElementType::complex128: return kFloat64;
  }
  return nullptr;
}

/// How many bytes from `target` on may be added at once, `bytes` at most: the elements that end in its stripe, or one
/// that does not.
inline std::size_t stripe_run_bytes(const std::byte* target, std::size_t bytes, std::size_t element) {
  const std::size_t left = Stripes::kStripeBytes - reinterpret_cast<std::uintptr_t>(target) % Stripes::kStripeBytes;
  return std::min(bytes, std::max(left & ~(element - 1), element));  // elements are powers of two
}

/// Waits for stripes. Errors: peer_dead.
inline Status accumulate_waiting(StripeHolder& holder, ElementType type, const void* scale, std::byte* target,
                                 const std::byte* source, std::size_t bytes) {
  const std::size_t element = element_bytes(type);
  const AccumulateRows add =
      choose_accumulate(type, scale);  // before: nothing is done ahead behind a locked instruction
  while (bytes > 0) {
    const std::size_t run = stripe_run_bytes(target, bytes, element);
    GRAPNEL_TRY(holder.hold(target, run));
    add(target, 0, source, 0, run, 1, scale);
    target += run;
    source += run;
    bytes -= run;
  }
  return {};
}

/// Adds from `done` on until all is done (true) or a stripe is taken (false); `done` is how far it got.
inline bool try_accumulate(StripeHolder& holder, const Arithmetic& arithmetic, std::byte* target,
                           const std::byte* source, std::size_t bytes, std::uint64_t& done) {
  const std::size_t element = element_bytes(arithmetic.type);
  while (done < bytes) {
    const std::size_t run = stripe_run_bytes(target + done, bytes - done, element);
    if (!holder.try_hold(target + done, run)) return false;
    accumulate(arithmetic.type, target + done, source + done, run, arithmetic.scale.bytes);
    done += run;
  }
  return true;
}

}  // namespace grapnel::rma
