// Many small puts, or gets, to one rank that are sent together, in few messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "grapnel/shape.hpp"
#include "grapnel/types.hpp"
#include "rma/counts.hpp"
#include "rma/transfers.hpp"

namespace grapnel::rma {

class Aggregate {
 public:
  Aggregate(OperationKind kind, Rank target) : kind_(kind), target_(target) {}

  bool takes(OperationKind kind, Rank target) const { return kind == kind_ && target == target_; }
  std::size_t size() const { return pieces_.size(); }

  /// The local memory must live until the aggregate was sent and, for puts, has left; of `add_value` a copy is kept.
  void add(const ContiguousTransfer& what);
  void add(const StridedTransfer& what);
  void add(const VectorTransfer& what);
  void add_value(const ContiguousTransfer& what);

  /// What is to be sent. Valid as long as the aggregate.
  VectorTransfer transfer() const { return {kind_, {}, pieces_, target_}; }

 private:
  using Value = std::array<std::byte, 8>;

  const OperationKind kind_;
  const Rank target_;
  std::vector<Piece> pieces_;
  std::deque<Value> values_;  ///< what pieces of `add_value` point at; their addresses stay
};

}  // namespace grapnel::rma
