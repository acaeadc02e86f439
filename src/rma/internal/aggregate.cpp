// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/aggregate.hpp"

#include <cstring>

#include "base/check.hpp"
#include "rma/internal/run_pairs.hpp"

namespace grapnel::rma {

void Aggregate::add(const ContiguousTransfer& what) {
  GRAPNEL_ASSERT(takes(what.kind, what.target), "a transfer of another kind or target");
  pieces_.push_back({what.local, what.remote, what.bytes});
}

void Aggregate::add(const StridedTransfer& what) {
  GRAPNEL_ASSERT(takes(what.kind, what.target), "a transfer of another kind or target");
  for_each_run_pair(*what.remote_shape, *what.local_shape,
                    [&](std::int64_t remote_offset, std::int64_t local_offset, std::size_t bytes) {
                      pieces_.push_back({static_cast<std::byte*>(what.local) + local_offset,
                                         static_cast<std::byte*>(what.remote) + remote_offset, bytes});
                    });
}

void Aggregate::add(const VectorTransfer& what) {
  GRAPNEL_ASSERT(takes(what.kind, what.target), "a transfer of another kind or target");
  pieces_.insert(pieces_.end(), what.pieces.begin(), what.pieces.end());
}

void Aggregate::add_value(const ContiguousTransfer& what) {
  GRAPNEL_ASSERT(takes(what.kind, what.target), "a value of another kind or target");
  Value& kept = values_.emplace_back();
  GRAPNEL_CHECK(what.bytes <= kept.size(), "a value of {} bytes; {} are possible", what.bytes, kept.size());
  std::memcpy(kept.data(), what.local, what.bytes);
  pieces_.push_back({kept.data(), what.remote, what.bytes});
}

}  // namespace grapnel::rma
