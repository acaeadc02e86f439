// The place of a transfer, and the shared-memory way of each form.
// SPDX-License-Identifier: Apache-2.0
#include "rma/rma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rma/internal/accumulation.hpp"
#include "rma/internal/run_pairs.hpp"
#include "rma/kernels/strided.hpp"

namespace grapnel::rma {

Rma::Rma(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting,
         segment::SegmentTable& segments, Stripes& stripes, segment::Lent& lent, progress::Client* client,
         const transport::Transport* transport, core::NetworkWords& words)
    : settings_(config.get<Settings>()),
      launch_(launch),
      waiting_(waiting),
      segments_(segments),
      reach_(segments.reach()),
      stripes_(stripes),
      lent_(lent, segments, launch.rank()),
      client_(client),
      words_(words),
      ways_(config, transport != nullptr ? transport->capabilities() : transport::Capabilities{}),
      remote_(client != nullptr ? std::make_unique<RemotePath>(*client, settings_.chunk_bytes) : nullptr),
      native_(ways_.any_native() ? std::make_unique<NativePath>(*client, launch.nodes().node_count()) : nullptr),
      fences_(settings_, launch, client, native_.get()),
      local_(static_cast<std::size_t>(launch.size())),
      implicit_(static_cast<std::size_t>(launch.size())) {
  for (const Rank rank : launch.nodes().ranks_of[index(launch.node())]) local_[index(rank)] = 1;
}

void Rma::forget_remote_keys() {
  words_.forget_keys();
  if (!native_) return;
  progress::Client::Guard guard(*client_);
  native_->forget_keys();
}

Result<Arithmetic> Rma::arithmetic(ElementType type, const void* scale, std::size_t bytes) {
  if (!is_element_type(static_cast<int>(type))) {
    return Status(Code::invalid_argument, fmt::format("element type {} is unknown", static_cast<int>(type)));
  }
  if (!holds_whole_elements(type, bytes)) {
    return Status(Code::invalid_argument,
                  fmt::format("{} bytes are no whole number of elements of {} bytes", bytes, element_bytes(type)));
  }
  Arithmetic arithmetic{type, {}};
  std::memcpy(arithmetic.scale.bytes, one_as_bytes(type), element_bytes(type));
  if (scale != nullptr) std::memcpy(arithmetic.scale.bytes, scale, element_bytes(type));
  return arithmetic;
}

// Members of an allocation know where it lies; of the others' allocations the target's server knows. What it said holds
// for one operation only: this rank does not learn when they are freed.
Result<bool> Rma::lies_in_segment(NodeId node, std::uint64_t address, std::size_t bytes, Located& located) const {
  if (segments_.find_remote(node, address, bytes) != nullptr) return true;
  const auto within = [&] { return located.begin <= address && address < located.end; };
  if (!within()) {
    progress::Client::Guard guard(*client_);
    GRAPNEL_ASSIGN_OR_RETURN(const auto end, remote_->locate(node, address));
    located = {address, end};
  }
  return within() && bytes <= located.end - address;
}

Status Rma::check_target(Rank target, const char* what) const {
  if (static_cast<std::size_t>(target) < local_.size()) return {};
  return Status(Code::invalid_argument, fmt::format("{}: rank {} is outside the job (0…{})", what,
                                                    static_cast<int>(target), local_.size() - 1));
}

Result<Rma::Route> Rma::route(const void* remote, std::size_t bytes, Rank target, const char* what) const {
  Located located;
  return route(remote, bytes, target, what, located);
}

Result<Rma::Route> Rma::route(const void* remote, std::size_t bytes, Rank target, const char* what,
                              Located& located) const {
  GRAPNEL_TRY(check_target(target, what));
  if (bytes == 0) return Route::nothing;
  const bool local = is_local(target);
  GRAPNEL_ASSIGN_OR_RETURN(
      const auto held,
      local ? Result<bool>(segments_.contains(remote, bytes))
            : lies_in_segment(node_of(target), reinterpret_cast<std::uintptr_t>(remote), bytes, located));
  if (!held) {
    return Status(Code::invalid_argument, fmt::format("{}: {} bytes at {} of rank {} lie outside every segment", what,
                                                      bytes, remote, index(target)));
  }
  return local ? Route::shared : Route::wire;
}

bool Rma::is_network(const void* remote, Rank target) const {
  if (is_local(target)) return reach_.is_network(remote);
  const auto* region = segments_.find_remote(node_of(target), reinterpret_cast<std::uintptr_t>(remote), 1);
  return region != nullptr && region->domain == AtomicDomain::network;
}

Status Rma::check_domain(const void* remote, Rank target, const char* what) const {
  if (!is_network(remote, target)) return {};
  return Status(Code::invalid_argument,
                fmt::format("{}: {} of rank {} is in the network domain, whose words only fetch_and_add, swap and "
                            "compare_and_swap of 64 bits update; allocate memory in the processor's domain for it",
                            what, remote, index(target)));
}

Result<Rma::Route> Rma::route(const ContiguousTransfer& what) const {
  GRAPNEL_TRY(check_target(what.target, to_string(what.kind)));
  if (what.kind == OperationKind::accumulate) {
    GRAPNEL_TRY(check_domain(what.remote, what.target, to_string(what.kind)));
  }
  return route(what.remote, what.bytes, what.target, to_string(what.kind));
}

Result<Rma::Route> Rma::route(const StridedTransfer& what) const {
  for (const Strided* shape : {what.local_shape, what.remote_shape}) GRAPNEL_TRY(validate(*shape));
  if (!have_equal_counts(*what.local_shape, *what.remote_shape)) {
    return Status(Code::invalid_argument, "strided: the two sides have different counts");
  }
  GRAPNEL_TRY(check_target(what.target, "strided"));
  if (what.kind == OperationKind::accumulate) GRAPNEL_TRY(check_domain(what.remote, what.target, "accumulate"));
  // Unsigned, because it was not checked yet whether it lies in any memory.
  const Extent touched = extent(*what.remote_shape);
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(what.remote) + static_cast<std::uintptr_t>(touched.low);
  const std::size_t bytes = static_cast<std::size_t>(touched.high) - static_cast<std::size_t>(touched.low);
  return route(reinterpret_cast<const void*>(first), bytes, what.target, "strided");
}

Result<Rma::Route> Rma::route(const VectorTransfer& what) const {
  GRAPNEL_TRY(check_target(what.target, "vector"));  // there may be no piece that would
  Route way = Route::nothing;
  Located located;
  for (const Piece& piece : what.pieces) {
    if (what.kind == OperationKind::accumulate) GRAPNEL_TRY(check_domain(piece.remote, what.target, "accumulate"));
    GRAPNEL_ASSIGN_OR_RETURN(const auto one, route(piece.remote, piece.bytes, what.target, "vector", located));
    if (one != Route::nothing) way = one;
  }
  return way;
}

bool Rma::by_rows(const StridedTransfer& what) {
  const Strided &local = *what.local_shape, &remote = *what.remote_shape;
  if (what.kind == OperationKind::accumulate || local.levels != 1 || !have_equal_counts(local, remote)) return false;
  const Rows rows{local.count[0], local.count[1], local.stride[0], remote.stride[0]};
  return move_rows(what.kind, what.local, what.remote, rows, what.target);
}

Status Rma::by_shared_memory(const ContiguousTransfer& what) {
  count_shared(what.kind, what.bytes);
  switch (what.kind) {
    case OperationKind::put: rma::copy(what.remote, what.local, what.bytes); return {};
    case OperationKind::get: rma::copy(what.local, what.remote, what.bytes); return {};
    default: break;
  }
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  return accumulate_waiting(holder, what.arithmetic.type, what.arithmetic.scale.bytes,
                            static_cast<std::byte*>(what.remote), static_cast<const std::byte*>(what.local),
                            what.bytes);
}

Status Rma::by_shared_memory(const StridedTransfer& what) {
  count_shared(what.kind, static_cast<std::size_t>(what.local_shape->total_bytes()));
  switch (what.kind) {
    case OperationKind::put: copy_strided(what.remote, *what.remote_shape, what.local, *what.local_shape); return {};
    case OperationKind::get: copy_strided(what.local, *what.local_shape, what.remote, *what.remote_shape); return {};
    default: break;
  }
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  Status status;
  for_each_run_pair(*what.remote_shape, *what.local_shape,
                    [&](std::int64_t remote_offset, std::int64_t local_offset, std::size_t bytes) {
                      if (!status.ok()) return;
                      status = accumulate_waiting(holder, what.arithmetic.type, what.arithmetic.scale.bytes,
                                                  static_cast<std::byte*>(what.remote) + remote_offset,
                                                  static_cast<const std::byte*>(what.local) + local_offset, bytes);
                    });
  return status;
}

Status Rma::by_shared_memory(const VectorTransfer& what) {
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  std::size_t bytes = 0;
  for (const Piece& piece : what.pieces) {
    bytes += piece.bytes;
    switch (what.kind) {
      case OperationKind::put: rma::copy(piece.remote, piece.local, piece.bytes); break;
      case OperationKind::get: rma::copy(piece.local, piece.remote, piece.bytes); break;
      default:
        GRAPNEL_TRY(accumulate_waiting(holder, what.arithmetic.type, what.arithmetic.scale.bytes,
                                       static_cast<std::byte*>(piece.remote),
                                       static_cast<const std::byte*>(piece.local), piece.bytes));
    }
  }
  count_shared(what.kind, bytes);
  return {};
}

}  // namespace grapnel::rma
