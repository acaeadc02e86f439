// SPDX-License-Identifier: Apache-2.0
#include "rma/handlers.hpp"

#include "base/codec.hpp"
#include "progress/server.hpp"
#include "rma/internal/accumulation.hpp"
#include "rma/internal/word.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/kernels/strided.hpp"

namespace grapnel::rma {
namespace {

std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

void Handlers::answer_packed(Request& request, std::unique_ptr<Bytes> data) {
  const ByteView view = *data;
  request.answer({}, view, {[](void* context, const Status&) { delete static_cast<Bytes*>(context); }, data.release()});
}

void Handlers::add(progress::HandlerTable& table, progress::HandlerId id, const char* name, std::size_t body_bytes,
                   bool answers, Outcome (Handlers::*run)(Request&)) {
  table.add(id, {name, body_bytes, body_bytes, answers, [this, run](Request& request) {
                   const auto pin = segments_.pin();
                   return (this->*run)(request);
                 }});
}

void Handlers::add_to(progress::HandlerTable& table) {
  table.add(kPutHandler, {.name = "put",
                          .least_body_bytes = sizeof(ContiguousBody),
                          .most_body_bytes = sizeof(ContiguousBody),
                          .run =
                              [this](Request& request) {
                                const auto pin = segments_.pin();
                                return put(request);
                              },
                          .place = [this](Request& request) { return place_of_put(request); },
                          .landed = [this](ByteSpan place) { segments_.landing_ends(place.data(), place.size()); }});
  add(table, kGetHandler, "get", sizeof(ContiguousBody), true, &Handlers::get);
  add(table, kAccumulateHandler, "accumulate", sizeof(AccumulateBody), false, &Handlers::accumulate);
  add(table, kPutStridedHandler, "strided put", sizeof(StridedBody), false, &Handlers::put_strided);
  add(table, kGetStridedHandler, "strided get", sizeof(StridedBody), true, &Handlers::get_strided);
  add(table, kAccumulateStridedHandler, "strided accumulate", sizeof(StridedBody), false,
      &Handlers::accumulate_strided);
  add(table, kPutVectorHandler, "vector put", sizeof(VectorBody), false, &Handlers::put_vector);
  add(table, kGetVectorHandler, "vector get", sizeof(VectorBody), true, &Handlers::get_vector);
  add(table, kAccumulateVectorHandler, "vector accumulate", sizeof(VectorBody), false, &Handlers::accumulate_vector);
  add(table, kRmwHandler, "read-modify-write", sizeof(RmwBody), true, &Handlers::read_modify_write);
  add(table, kUpdateHandler, "update", sizeof(UpdateBody), false, &Handlers::update);
  add(table, kFetchingUpdateHandler, "fetching update", sizeof(UpdateBody), true, &Handlers::fetching_update);
  add(table, kCompareHandler, "compare", sizeof(CompareBody), true, &Handlers::compare);
  add(table, kUpdateVectorHandler, "vector update", sizeof(PartsBody), false, &Handlers::update_vector);
  add(table, kFetchingUpdateVectorHandler, "vector fetching update", sizeof(PartsBody), true,
      &Handlers::fetching_update_vector);
  add(table, kPutLentHandler, "put to lent memory", sizeof(PartsBody), false, &Handlers::put_lent);
  add(table, kGetLentHandler, "get from lent memory", sizeof(PartsBody), true, &Handlers::get_lent);
  add(table, kCompareLentHandler, "compare in lent memory", sizeof(CompareLentBody), true, &Handlers::compare_lent);
  add(table, kCopiesHandler, "whether copies work", 0, true, &Handlers::copies);
  add(table, kPutSignalHandler, "put with signal", sizeof(PutSignalBody), false, &Handlers::put_signal);
  add(table, kPutStridedSignalHandler, "strided put with signal", sizeof(StridedSignalBody), false,
      &Handlers::put_strided_signal);
  add(table, kLocateHandler, "locate", sizeof(LocateBody), true, &Handlers::locate);
}

progress::Outcome Handlers::put(Request& request) {
  const auto body = request.body_as<ContiguousBody>();
  if (body.bytes != request.payload.size() || !holds(body.address, body.bytes)) return Outcome::refused;
  rma::copy(at(body.address), request.payload.data(), body.bytes);
  return Outcome::done;
}

static_assert(progress::Server::kLandingsPerOrigin <= segment::BulkReceives::kPerOrigin);

ByteSpan Handlers::place_of_put(Request& request) {
  const auto pin = segments_.pin();
  const auto body = request.body_as<ContiguousBody>();
  if (body.bytes != request.bulk_bytes || !holds(body.address, body.bytes)) return {};
  segments_.landing_begins(at(body.address), body.bytes);
  return {at(body.address), body.bytes};
}

progress::Outcome Handlers::get(Request& request) {
  const auto body = request.body_as<ContiguousBody>();
  if (body.bytes > transport::kMaxBulkBytes || !holds(body.address, body.bytes)) return Outcome::refused;
  // Straight from the segment, after this returns: the rank that frees it has waited until others are done with it, and
  // the pool stays mapped as long as the job, so an origin that breaks the rule reads other bytes and does not fault.
  request.answer({}, ByteView(at(body.address), body.bytes));
  return Outcome::done;
}

progress::Outcome Handlers::accumulate(Request& request) {
  const auto body = request.body_as<AccumulateBody>();
  const auto& [address, bytes] = body.target;
  if (!is_element_type(static_cast<int>(body.arithmetic.type)) || bytes != request.payload.size() ||
      bytes % element_bytes(body.arithmetic.type) != 0 || !holds_for_updates(address, bytes)) {
    return Outcome::refused;
  }
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  const bool all = try_accumulate(holder, body.arithmetic, at(address), request.payload.data(), bytes, request.resume);
  return all ? Outcome::done : Outcome::retry;
}

bool Handlers::holds(const StridedBody& body) const {
  // No origin sends a message for nothing, and `validate` accepts any empty shape.
  if (!validate(body.shape).ok() || body.bytes == 0) return false;
  const auto total = static_cast<std::uint64_t>(body.shape.total_bytes());
  if (body.first > total || body.bytes > total - body.first || body.bytes > transport::kMaxPayloadBytes) return false;
  const auto [low, high] = extent(body.shape);
  return holds(body.base + static_cast<std::uint64_t>(low),
               static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
}

progress::Outcome Handlers::put_strided(Request& request) {
  const auto body = request.body_as<StridedBody>();
  if (body.bytes != request.payload.size() || !holds(body)) return Outcome::refused;
  unpack(at(body.base), body.shape, body.first, request.payload.data(), body.bytes);
  return Outcome::done;
}

progress::Outcome Handlers::get_strided(Request& request) {
  const auto body = request.body_as<StridedBody>();
  if (!holds(body)) return Outcome::refused;
  auto data = std::make_unique<Bytes>(body.bytes);
  pack(data->data(), at(body.base), body.shape, body.first, body.bytes);
  answer_packed(request, std::move(data));
  return Outcome::done;
}

progress::Outcome Handlers::accumulate_strided(Request& request) {
  const auto body = request.body_as<StridedBody>();
  if (!is_element_type(static_cast<int>(body.arithmetic.type)) || body.bytes != request.payload.size() ||
      !holds(body) || segments_.reach().is_network(at(body.base))) {
    return Outcome::refused;
  }
  const std::size_t element = element_bytes(body.arithmetic.type);
  if (body.first % element != 0 || body.bytes % element != 0 ||
      static_cast<std::size_t>(body.shape.count[0]) % element != 0) {
    return Outcome::refused;
  }
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  std::uint64_t& done = request.resume;
  while (done < body.bytes) {
    // One run at a time from where we are; `for_each_run` is restarted only after a retry.
    bool taken = true;
    for_each_run(body.shape, body.first + done, body.bytes - done, [&](std::int64_t offset, std::size_t length) {
      if (!taken) return;
      std::uint64_t part = 0;
      taken =
          try_accumulate(holder, body.arithmetic, at(body.base) + offset, request.payload.data() + done, length, part);
      done += part;
    });
    if (!taken) return Outcome::retry;
  }
  return Outcome::done;
}

std::span<const VectorRun> Handlers::read_runs(const VectorBody& body, ByteView in, std::size_t element) {
  return read_runs(body.base, body.bytes, in, element,
                   [this](std::uint64_t address, std::uint64_t bytes) { return holds(address, bytes); });
}

progress::Outcome Handlers::put_vector(Request& request) {
  const auto body = request.body_as<VectorBody>();
  if (body.bytes > request.payload.size()) return Outcome::refused;
  const auto runs = read_runs(body, request.payload.subspan(body.bytes), 1);
  if (runs.empty()) return Outcome::refused;
  const std::byte* data = request.payload.data();
  for (const VectorRun& run : runs) {
    rma::copy(at(run.address), data, run.bytes);
    data += run.bytes;
  }
  return Outcome::done;
}

progress::Outcome Handlers::get_vector(Request& request) {
  const auto body = request.body_as<VectorBody>();
  const auto runs = read_runs(body, request.payload, 1);
  if (runs.empty()) return Outcome::refused;
  auto data = std::make_unique<Bytes>(body.bytes);
  std::byte* out = data->data();
  for (const VectorRun& run : runs) {
    rma::copy(out, at(run.address), run.bytes);
    out += run.bytes;
  }
  answer_packed(request, std::move(data));
  return Outcome::done;
}

progress::Outcome Handlers::accumulate_vector(Request& request) {
  const auto body = request.body_as<VectorBody>();
  if (!is_element_type(static_cast<int>(body.arithmetic.type)) || body.bytes > request.payload.size()) {
    return Outcome::refused;
  }
  const auto runs = read_runs(body, request.payload.subspan(body.bytes), element_bytes(body.arithmetic.type));
  if (runs.empty()) return Outcome::refused;
  StripeHolder holder(waiting_, stripes_, stripes_.server_mark());
  std::uint64_t before = 0;  // data of the runs before this one
  for (const VectorRun& run : runs) {
    if (request.resume < before + run.bytes) {
      std::uint64_t part = request.resume - before;
      const bool all =
          try_accumulate(holder, body.arithmetic, at(run.address), request.payload.data() + before, run.bytes, part);
      request.resume = before + part;
      if (!all) return Outcome::retry;
    }
    before += run.bytes;
  }
  return Outcome::done;
}

progress::Outcome Handlers::read_modify_write(Request& request) {
  const auto body = request.body_as<RmwBody>();
  const bool width_known = body.width_bytes == 4 || body.width_bytes == 8;
  if (!width_known || body.operation > RmwOperation::compare_and_swap || body.address % body.width_bytes != 0 ||
      !holds_for_updates(body.address, body.width_bytes)) {
    return Outcome::refused;
  }
  const std::int64_t old_value =
      apply_rmw(body.operation, at(body.address), body.width_bytes, body.operand, body.expected);
  request.answer(base::bytes_of(old_value), {});
  return Outcome::done;
}

progress::Outcome Handlers::put_signal(Request& request) {
  const auto body = request.body_as<PutSignalBody>();
  const auto& [address, bytes] = body.target;
  if (bytes != request.payload.size() || !holds(body.signal) || (bytes > 0 && !holds(address, bytes))) {
    return Outcome::refused;
  }
  if (bytes > 0) rma::copy(at(address), request.payload.data(), bytes);
  set_signal(at(body.signal.address), static_cast<std::int32_t>(body.signal.value));
  return Outcome::done;
}

progress::Outcome Handlers::put_strided_signal(Request& request) {
  const auto body = request.body_as<StridedSignalBody>();
  const StridedBody& target = body.target;
  if (target.bytes != request.payload.size() || !holds(target) || !holds(body.signal)) return Outcome::refused;
  unpack(at(target.base), target.shape, target.first, request.payload.data(), target.bytes);
  set_signal(at(body.signal.address), static_cast<std::int32_t>(body.signal.value));
  return Outcome::done;
}

progress::Outcome Handlers::locate(Request& request) {
  const auto body = request.body_as<LocateBody>();
  const std::uint64_t end = segments_.reach().end_of_segment(at(body.address));
  request.answer(base::bytes_of(end), {});
  return Outcome::done;
}

}  // namespace grapnel::rma
