// Transfers in parts at their origin: all with lent memory, and updates of strided and vector shapes.
//
//   lent memory       own rank: a copy, updates in place │ own node: process copies │ elsewhere: the server of the
//                     owner's node makes them
//   updates of parts  own node: under stripes, part by part │ elsewhere: messages of operands and runs
//
// All ranges that are lent are looked up before any byte is touched: on the own node here, elsewhere by the server, and
// then the next fence answers for a refused write.
// Cost: own node: 1 µs and 0.4 µs a further run for a copy, two copies for each update of a stripe. Other node:
// ⌈bytes/chunk⌉ messages; where old elements come back, no message covers more than kMostStripesFetched stripes.
// SPDX-License-Identifier: Apache-2.0
#include "rma/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rma/kernels/strided.hpp"
#include "rma/rma.hpp"
#include "rma/update_kernels.hpp"

namespace grapnel::rma {
namespace {

using Visit = PartsTransfer::Visit;

Status mistake(const char* what) { return Status(Code::invalid_argument, what); }

// The parts of two or three shapes of equal counts, the remote one first, in batches.
template <int kSides, typename PartOf>
Status visit_rows(const std::array<const Strided*, kSides>& shapes, std::size_t most, const Visit& visit,
                  const PartOf& part_of) {
  const std::int64_t total = shapes[0]->total_bytes();
  std::vector<Part> batch;
  std::int64_t done = 0;
  Status status;
  Walk<kSides> walk(shapes);
  walk.run(0, total, [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
    for (std::int64_t row = 0; row < rows && status.ok(); ++row) {
      std::array<std::int64_t, kSides> at;
      for (int side = 0; side < kSides; ++side) at[side] = offsets[side] + row * strides[side];
      batch.push_back(part_of(at, static_cast<std::size_t>(row_bytes)));
      done += row_bytes;
      if (batch.size() < most && done < total) continue;
      status = visit(batch, done == total);
      batch.clear();
    }
  });
  return status;
}

Status check_shapes(const Strided& remote, const Strided* other) {
  GRAPNEL_TRY(validate(remote));
  if (other == nullptr) return {};
  GRAPNEL_TRY(validate(*other));
  return have_equal_counts(remote, *other) ? Status() : mistake("strided: the sides have different counts");
}

// A copy as parts; put's source or get's destination is `local`.
Part copy_part(OperationKind kind, void* local, void* remote, std::size_t bytes) {
  if (kind == OperationKind::put) return {local, nullptr, remote, bytes};
  return {nullptr, local, remote, bytes};
}

Result<PartsTransfer> copy_of(OperationKind kind, Rank target) {
  if (kind != OperationKind::put && kind != OperationKind::get) {
    return mistake("lent memory has no accumulate; use an update with Operation::sum");
  }
  PartsTransfer all;
  all.kind = kind;
  all.fetches = kind == OperationKind::get;
  all.kernel.element_bytes = 1;
  all.lent = true;
  all.target = target;
  return all;
}

Result<PartsTransfer> update_of(grapnel::Operation operation, NumberType number, bool fetches, Rank target, bool lent) {
  PartsTransfer all;
  all.kind = OperationKind::update;
  all.update = {operation, number};
  const Reduction* const kernel = find_kernel(operation, number);
  if (kernel == nullptr) return kernel_of(all.update).status();
  all.kernel = *kernel;
  all.fetches = fetches;
  all.lent = lent;
  all.target = target;
  return all;
}

std::byte* moved(void* base, std::int64_t offset) { return static_cast<std::byte*>(base) + offset; }
const std::byte* moved(const void* base, std::int64_t offset) { return static_cast<const std::byte*>(base) + offset; }

}  // namespace

// ---- the parts of each shape ----

Result<PartsTransfer> Rma::parts_of(const ContiguousTransfer& what) const {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, copy_of(what.kind, what.target));
  all.bytes = what.bytes;
  all.batches = [&what](const Visit& visit) {
    const Part part = copy_part(what.kind, what.local, what.remote, what.bytes);
    return visit({&part, 1}, true);
  };
  return all;
}

Result<PartsTransfer> Rma::parts_of(const StridedTransfer& what) const {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, copy_of(what.kind, what.target));
  GRAPNEL_TRY(check_shapes(*what.remote_shape, what.local_shape));
  all.bytes = static_cast<std::size_t>(what.remote_shape->total_bytes());
  all.batches = [&what, most = batch_parts()](const Visit& visit) {
    return visit_rows<2>({what.remote_shape, what.local_shape}, most, visit, [&](const auto& at, std::size_t bytes) {
      return copy_part(what.kind, moved(what.local, at[1]), moved(what.remote, at[0]), bytes);
    });
  };
  return all;
}

Result<PartsTransfer> Rma::parts_of(const VectorTransfer& what) const {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, copy_of(what.kind, what.target));
  for (const Piece& piece : what.pieces) all.bytes += piece.bytes;
  all.batches = [&what](const Visit& visit) {
    std::vector<Part> parts;
    for (const Piece& piece : what.pieces) {
      if (piece.bytes > 0) parts.push_back(copy_part(what.kind, piece.local, piece.remote, piece.bytes));
    }
    return visit(parts, true);
  };
  return all;
}

Result<PartsTransfer> Rma::parts_of(const UpdateTransfer& what) const {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, update_of(what.update.operation, what.update.number, what.old_elements != nullptr,
                                               what.target, what.lent));
  all.bytes = what.bytes;
  all.batches = [&what](const Visit& visit) {
    const Part part{what.local, what.old_elements, what.remote, what.bytes};
    return visit({&part, 1}, true);
  };
  return all;
}

Result<PartsTransfer> Rma::parts_of(const StridedUpdate& what) const {
  const bool fetches = what.old_elements != nullptr;
  const bool reads = what.operation != grapnel::Operation::none;
  GRAPNEL_ASSIGN_OR_RETURN(auto all, update_of(what.operation, what.number, fetches, what.target, what.lent));
  GRAPNEL_TRY(check_shapes(*what.remote_shape, reads ? what.local_shape : nullptr));
  GRAPNEL_TRY(check_shapes(*what.remote_shape, fetches ? what.old_shape : nullptr));
  all.bytes = static_cast<std::size_t>(what.remote_shape->total_bytes());
  if (all.bytes > 0 && static_cast<std::size_t>(what.remote_shape->count[0]) % all.kernel.element_bytes != 0) {
    return mistake("update: a row of the shape is not a multiple of the element size");
  }
  if (reads && what.local == nullptr && all.bytes > 0) return mistake("update: no operands were given");
  all.batches = [&what, fetches, reads, most = batch_parts()](const Visit& visit) {
    // An absent side walks with the remote shape; its offsets are not used.
    const Strided* const source = reads ? what.local_shape : what.remote_shape;
    const Strided* const old = fetches ? what.old_shape : what.remote_shape;
    return visit_rows<3>({what.remote_shape, source, old}, most, visit, [&](const auto& at, std::size_t bytes) {
      return Part{reads ? moved(what.local, at[1]) : nullptr, fetches ? moved(what.old_elements, at[2]) : nullptr,
                  moved(what.remote, at[0]), bytes};
    });
  };
  return all;
}

Result<PartsTransfer> Rma::parts_of(const VectorUpdate& what) const {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, update_of(what.operation, what.number, what.fetches, what.target, what.lent));
  const bool reads = what.operation != grapnel::Operation::none;
  for (const Part& part : what.parts) {
    if (part.bytes % all.kernel.element_bytes != 0)
      return mistake("update: a part is not a multiple of the element size");
    const bool complete = (!reads || part.source != nullptr) && (!what.fetches || part.destination != nullptr);
    if (part.bytes > 0 && !complete) return mistake("update: a part has no operands, or no place for old elements");
    all.bytes += part.bytes;
  }
  all.batches = [&what](const Visit& visit) { return visit(what.parts, true); };
  return all;
}

// ---- the place ----

Status Rma::check_lent(const PartsTransfer& what) const {
  LentMemory::Lookup lookup(lent_, what.target);
  return what.batches([&](std::span<const Part> parts, bool) -> Status {
    for (const Part& part : parts) {
      if (part.bytes == 0 || lookup.holds(reinterpret_cast<std::uint64_t>(part.remote), part.bytes)) continue;
      return Status(Code::invalid_argument, fmt::format("{}: rank {} has not lent {} bytes at {}", to_string(what.kind),
                                                        index(what.target), part.bytes, part.remote));
    }
    return {};
  });
}

Result<Rma::Route> Rma::route(const PartsTransfer& what) const {
  GRAPNEL_TRY(check_target(what.target, to_string(what.kind)));
  if (what.bytes == 0) return Route::nothing;
  if (what.lent) {
    if (!is_local(what.target)) return Route::wire;
    GRAPNEL_TRY(check_lent(what));
    return Route::shared;
  }
  if (!what.fetches && what.update.operation == grapnel::Operation::none) return Route::nothing;
  Located located;
  const auto look = [&](std::span<const Part> parts, bool) -> Status {
    for (const Part& part : parts) {
      GRAPNEL_TRY(route(part.remote, part.bytes, what.target, "update", located).status());
      GRAPNEL_TRY(check_domain(part.remote, what.target, "update"));
    }
    return {};
  };
  GRAPNEL_TRY(what.batches(look));
  return is_local(what.target) ? Route::shared : Route::wire;
}

// ---- own node ----

Status Rma::update_parts(const PartsTransfer& what, std::span<const Part> parts, StripeHolder& holder) {
  for (const Part& part : parts) {
    const std::uint64_t space = what.lent ? lent_.space(what.target, part.remote) : Stripes::kInNode;
    auto* const target = static_cast<std::byte*>(part.remote);
    for (std::size_t done = 0; done < part.bytes;) {
      const auto source = part.source != nullptr ? moved(part.source, static_cast<std::int64_t>(done)) : nullptr;
      const auto old = part.destination != nullptr ? moved(part.destination, static_cast<std::int64_t>(done)) : nullptr;
      const std::size_t run = stripe_run_bytes(target + done, part.bytes - done, what.kernel.element_bytes);
      GRAPNEL_TRY(holder.hold(target + done, run, space));
      if (what.lent) {
        GRAPNEL_TRY(lent_.update(what.target, what.update, what.kernel, target + done, source, old, run));
      } else {
        update_run(what.update, what.kernel, target + done, source, old, run);
      }
      done += run;
    }
  }
  return {};
}

Status Rma::by_shared_memory(const PartsTransfer& what) {
  count_shared(what.kind, what.bytes);
  StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
  return what.batches([&](std::span<const Part> parts, bool) -> Status {
    switch (what.kind) {
      case OperationKind::put: return lent_.put(what.target, parts);
      case OperationKind::get: return lent_.get(what.target, parts);
      default: return update_parts(what, parts, holder);
    }
  });
}

// ---- other nodes ----

Status Rma::by_wire(const PartsTransfer& what, Operation& operation) {
  const NodeId node = node_of(what.target);
  const bool updates = what.kind == OperationKind::update;
  GRAPNEL_TRY(before_messages(node));
  RemotePath::PartsHead head;
  head.update = what.update;
  head.element_bytes = what.kernel.element_bytes;
  head.owner = what.lent ? static_cast<std::int64_t>(index(what.target)) : kInSegments;
  head.has_data = what.kind == OperationKind::put || (updates && what.update.operation != grapnel::Operation::none);
  if (what.kind == OperationKind::put) {
    head.handler = kPutLentHandler;
  } else if (what.kind == OperationKind::get) {
    head.handler = kGetLentHandler;
  } else {
    head.handler = what.fetches ? kFetchingUpdateVectorHandler : kUpdateVectorHandler;
  }
  return what.batches([&](std::span<const Part> parts, bool last) {
    if (what.fetches) return remote_->fetch_parts(node, operation, head, parts, updates);
    return remote_->send_parts(node, operation, head, parts,
                               last ? fences_.acknowledgement(node) : progress::OnReply{});
  });
}

// ---- whether it works ----

Status Rma::copies_work(NodeId node) {
  if (index(node) >= launch_.nodes().node_count()) {
    return Status(Code::invalid_argument, fmt::format("there is no node {}", index(node)));
  }
  segment::Lent& lent = lent_.list();
  if (node != launch_.node()) {
    progress::Client::Guard guard(*client_);
    GRAPNEL_ASSIGN_OR_RETURN(const auto obstacle, remote_->obstacle_to_copies(node));
    return segment::Lent::explain(node, obstacle);
  }
  GRAPNEL_TRY(waiting_.on_word(lent.tried(), [&](std::uint32_t tried) { return tried >= lent.ranks(); }));
  return segment::Lent::explain(node, *lent.obstacle());
}

}  // namespace grapnel::rma
