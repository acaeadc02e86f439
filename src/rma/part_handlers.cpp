// The server's side of transfers in parts: updates of shapes, and all that is done to lent memory.
//
// All ranges of lent memory are looked up before any byte is touched, and reached by process copies, also those of the
// server's own process: where a range is lent and its memory is gone, the request is refused.
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/codec.hpp"
#include "rma/handlers.hpp"
#include "rma/internal/piece_cursor.hpp"
#include "rma/update_kernels.hpp"

namespace grapnel::rma {
namespace {

std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// The data of all runs lies in one block, run after run.
std::vector<Part> parts_of(std::span<const VectorRun> runs, const std::byte* source, std::byte* destination) {
  std::vector<Part> parts;
  parts.reserve(runs.size());
  for (const VectorRun& run : runs) {
    parts.push_back({source, destination, at(run.address), run.bytes});
    if (source != nullptr) source += run.bytes;
    if (destination != nullptr) destination += run.bytes;
  }
  return parts;
}

}  // namespace

std::optional<Reduction> Handlers::known_kernel(const Update& update) {
  const Reduction* const kernel = find_kernel(update.operation, update.number);
  return kernel != nullptr ? std::optional<Reduction>(*kernel) : std::nullopt;
}

// None where the owner is no rank of this node: it has lent nothing here.
std::span<const VectorRun> Handlers::read_parts(const PartsBody& body, ByteView in, std::size_t element) {
  if (body.owner == kInSegments) {
    return read_runs(body.base, body.bytes, in, element,
                     [this](std::uint64_t address, std::uint64_t bytes) { return holds_for_updates(address, bytes); });
  }
  if (!is_rank(body.owner)) return {};
  LentMemory::Lookup lookup(lent_, Rank{static_cast<int>(body.owner)});
  return read_runs(body.base, body.bytes, in, element,
                   [&](std::uint64_t address, std::uint64_t bytes) { return lookup.holds(address, bytes); });
}

progress::Outcome Handlers::put_lent(Request& request) {
  const auto body = request.body_as<PartsBody>();
  if (body.bytes > request.payload.size() || body.owner == kInSegments) return Outcome::refused;
  const auto runs = read_parts(body, request.payload.subspan(body.bytes), 1);
  if (runs.empty()) return Outcome::refused;
  const Status done = lent_.put(Rank{static_cast<int>(body.owner)}, parts_of(runs, request.payload.data(), nullptr));
  return done.ok() ? Outcome::done : Outcome::refused;
}

progress::Outcome Handlers::get_lent(Request& request) {
  const auto body = request.body_as<PartsBody>();
  if (body.owner == kInSegments) return Outcome::refused;
  const auto runs = read_parts(body, request.payload, 1);
  if (runs.empty()) return Outcome::refused;
  auto data = std::make_unique<Bytes>(body.bytes);
  const Status done = lent_.get(Rank{static_cast<int>(body.owner)}, parts_of(runs, nullptr, data->data()));
  if (!done.ok()) return Outcome::refused;
  answer_packed(request, std::move(data));
  return Outcome::done;
}

std::uint64_t Handlers::space_of(std::int64_t owner, std::uint64_t address) const {
  return owner == kInSegments ? Stripes::kInNode : lent_.space(Rank{static_cast<int>(owner)}, at(address));
}

Status Handlers::update_elements(const PartsBody& body, const Reduction& kernel, std::byte* target,
                                 const std::byte* source, std::size_t bytes) {
  if (body.owner != kInSegments) {
    return lent_.update(Rank{static_cast<int>(body.owner)}, body.update, kernel, target, source, nullptr, bytes);
  }
  update_run(body.update, kernel, target, source, nullptr, bytes);
  return {};
}

progress::Outcome Handlers::update_vector(Request& request) {
  const auto body = request.body_as<PartsBody>();
  const auto kernel = known_kernel(body.update);
  if (!kernel || body.update.operation == grapnel::Operation::none || body.bytes > request.payload.size()) {
    return Outcome::refused;
  }
  const auto runs = read_parts(body, request.payload.subspan(body.bytes), kernel->element_bytes);
  if (runs.empty()) return Outcome::refused;
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  std::uint64_t before = 0;  // data of the runs before this one
  for (const VectorRun& run : runs) {
    while (request.resume < before + run.bytes) {
      const std::uint64_t done = request.resume - before;
      std::byte* const target = at(run.address + done);
      const std::size_t bytes = stripe_run_bytes(target, run.bytes - done, kernel->element_bytes);
      if (!holder.try_hold(target, bytes, space_of(body.owner, run.address))) return Outcome::retry;
      const Status updated = update_elements(body, *kernel, target, request.payload.data() + request.resume, bytes);
      if (!updated.ok()) return Outcome::refused;
      request.resume += bytes;
    }
    before += run.bytes;
  }
  return Outcome::done;
}

// A stripe at a segment's end has two words: the segment's, and the owner's behind it.
static_assert(2 * kMostStripesFetched <= AllStripes::kMost);

// All runs at once, so that the answer is made once (update_handlers.cpp).
progress::Outcome Handlers::fetching_update_vector(Request& request) {
  const auto body = request.body_as<PartsBody>();
  const auto kernel = known_kernel(body.update);
  const bool changes = body.update.operation != grapnel::Operation::none;
  const std::uint64_t operands = changes ? body.bytes : 0;
  if (!kernel || operands > request.payload.size()) return Outcome::refused;
  const auto runs = read_parts(body, request.payload.subspan(operands), kernel->element_bytes);
  if (runs.empty()) return Outcome::refused;
  StripeCount stripes;
  for (const VectorRun& run : runs) stripes.add(run.address, run.bytes);
  if (stripes.count() > kMostStripesFetched) return Outcome::refused;
  AllStripes held(waiting_, stripes_);
  for (const VectorRun& run : runs) {
    if (!held.try_hold(at(run.address), run.bytes, space_of(body.owner, run.address))) return Outcome::retry;
  }
  auto old_elements = std::make_unique<Bytes>(body.bytes);
  const std::byte* const source = changes ? request.payload.data() : nullptr;
  if (body.owner == kInSegments) {
    for (const Part& part : parts_of(runs, source, old_elements->data())) {
      update_run(body.update, *kernel, static_cast<std::byte*>(part.remote), static_cast<const std::byte*>(part.source),
                 static_cast<std::byte*>(part.destination), part.bytes);
    }
  } else if (!fetch_lent(body, *kernel, runs, source, *old_elements).ok()) {
    return Outcome::refused;
  }
  answer_packed(request, std::move(old_elements));
  return Outcome::done;
}

// Run by run in the order of the message: runs that overlap take effect one after the other.
Status Handlers::fetch_lent(const PartsBody& body, const Reduction& kernel, std::span<const VectorRun> runs,
                            const std::byte* operands, Bytes& old_elements) {
  std::size_t done = 0;
  for (const VectorRun& run : runs) {
    for (const std::size_t end = done + run.bytes; done < end;) {
      std::byte* const target = at(run.address + run.bytes - (end - done));
      const std::size_t bytes = stripe_run_bytes(target, end - done, kernel.element_bytes);
      GRAPNEL_TRY(lent_.update(Rank{static_cast<int>(body.owner)}, body.update, kernel, target,
                               operands != nullptr ? operands + done : nullptr, old_elements.data() + done, bytes));
      done += bytes;
    }
  }
  return {};
}

progress::Outcome Handlers::compare_lent(Request& request) {
  const auto body = request.body_as<CompareLentBody>();
  const auto& [address, bytes] = body.compare.target;
  if (!is_compared_width(bytes) || !is_rank(body.owner)) return Outcome::refused;
  const Rank owner{static_cast<int>(body.owner)};
  if (!LentMemory::Lookup(lent_, owner).holds(address, bytes)) return Outcome::refused;
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  if (!holder.try_hold(at(address), bytes, lent_.space(owner, at(address)))) return Outcome::retry;
  const auto old_value = lent_.compare(owner, at(address), bytes, body.compare.expected, body.compare.desired);
  if (!old_value) return Outcome::refused;
  request.answer(base::bytes_of(*old_value), {});
  return Outcome::done;
}

progress::Outcome Handlers::copies(Request& request) {
  const auto obstacle = lent_.list().obstacle();
  if (!obstacle) return Outcome::retry;  // a rank of this node has not tried yet
  const std::uint64_t answer = *obstacle;
  request.answer(base::bytes_of(answer), {});
  return Outcome::done;
}

}  // namespace grapnel::rma
