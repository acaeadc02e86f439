// The server's side of updates. An answer carries old elements, so a fetching update is made at once or not at all:
// an update that stopped half-way and was tried again would fetch its own results.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/codec.hpp"
#include "rma/handlers.hpp"
#include "rma/internal/updating.hpp"
#include "rma/planted.hpp"

namespace grapnel::rma {

// The kernel of a sound request; else nothing.
std::optional<Reduction> Handlers::kernel_of_update(const UpdateBody& body) const {
  if (body.target.bytes == 0 || body.target.bytes > transport::kMaxPayloadBytes) return {};
  const auto kernel = known_kernel(body.update);
  if (!kernel || body.target.bytes % kernel->element_bytes != 0) return {};
  if (!holds_for_updates(body.target.address, body.target.bytes)) return {};
  return kernel;
}

progress::Outcome Handlers::update(Request& request) {
  const auto body = request.body_as<UpdateBody>();
  auto kernel = kernel_of_update(body);
  if (!kernel || body.target.bytes != request.payload.size()) return Outcome::refused;
  if (planted(Bug::torn_pair) && body.update.operation == grapnel::Operation::replace) {
    kernel = *reduction(grapnel::Operation::replace, grapnel::NumberType::uint64);
  }
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  const bool all = try_update(holder, body.update, *kernel, reinterpret_cast<std::byte*>(body.target.address),
                              request.payload.data(), body.target.bytes, request.resume);
  return all ? Outcome::done : Outcome::retry;
}

constexpr std::size_t kMostBytesFetched = kMostStripesFetched * Stripes::kStripeBytes;
static_assert(kMostStripesFetched + 1 <= AllStripes::kMost);

progress::Outcome Handlers::fetching_update(Request& request) {
  const auto body = request.body_as<UpdateBody>();
  const auto kernel = kernel_of_update(body);
  const std::size_t operands = body.update.operation == grapnel::Operation::none ? 0 : body.target.bytes;
  if (!kernel || operands != request.payload.size() || body.target.bytes > kMostBytesFetched) return Outcome::refused;
  auto* const target = reinterpret_cast<std::byte*>(body.target.address);
  if (planted(Bug::fetch_from_the_middle) && operands != 0) {
    auto found = std::make_unique<Bytes>(target, target + body.target.bytes);
    StripeHolder one(waiting_, stripes_, stripes_.server_mark());
    const bool all =
        try_update(one, body.update, *kernel, target, request.payload.data(), body.target.bytes, request.resume);
    if (all) answer_packed(request, std::move(found));
    return all ? Outcome::done : Outcome::retry;
  }
  AllStripes stripes(waiting_, stripes_);
  if (!stripes.try_hold(target, body.target.bytes)) return Outcome::retry;
  auto old_elements = std::make_unique<Bytes>(body.target.bytes);
  update_run(body.update, *kernel, target, request.payload.data(), old_elements->data(), body.target.bytes);
  answer_packed(request, std::move(old_elements));
  return Outcome::done;
}

progress::Outcome Handlers::compare(Request& request) {
  const auto body = request.body_as<CompareBody>();
  const auto& [address, bytes] = body.target;
  if (!is_compared_width(bytes) || !holds_for_updates(address, bytes)) return Outcome::refused;
  auto* const target = reinterpret_cast<std::byte*>(address);
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  if (!holder.try_hold(target, bytes)) return Outcome::retry;
  const std::uint64_t old_value = compare_held(target, bytes, body.expected, body.desired);
  request.answer(base::bytes_of(old_value), {});
  return Outcome::done;
}

}  // namespace grapnel::rma
