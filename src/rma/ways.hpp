// Which way a transfer takes over the wire: a table, so that it can be printed, overridden and tested.
//
// Overridden by GRAPNEL_NATIVE_RMA (0: messages only), GRAPNEL_NATIVE_ROW_BYTES and GRAPNEL_BULK_BYTES.
// Source: armci-multiprotocol, section 2, figure 2 (active messages or remote copies by request size and shape).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "grapnel/shape.hpp"
#include "rma/counts.hpp"
#include "rma/settings.hpp"
#include "transport/settings.hpp"
#include "transport/transport.hpp"

namespace grapnel::rma {

enum class WireWay {
  messages,  ///< packed, cut at a chunk, executed by the target node's server
  bulk,      ///< a message whose data moves from memory to memory, once the server has named the place
  native,    ///< the fabric's own put or get, row by row
};

enum class Form { contiguous, strided, vector };

/// The rows of a transfer between two normalised shapes: the fabric moves what lies in one piece on both sides.
inline std::size_t row_bytes(const Strided& local, const Strided& remote) {
  return static_cast<std::size_t>(std::min(local.count[0], remote.count[0]));
}

class Ways {
 public:
  Ways(const base::Config& config, const transport::Capabilities& fabric)
      : settings_(config.get<Settings>()), native_(config.get<transport::Settings>().native_rma), fabric_(fabric) {}

  /// `row_bytes`: the length of the contiguous rows.
  WireWay choose(OperationKind kind, Form form, std::size_t row_bytes) const;
  /// Whether anything goes native here.
  bool any_native() const { return native_ && (fabric_.native_put || fabric_.native_get); }

  struct Row {
    std::string operation, form, from_row_bytes, way;
  };
  /// The table in force, for `grapnel info`.
  std::vector<Row> rows() const;

 private:
  bool goes_native(OperationKind kind, Form form, std::size_t row_bytes) const;

  const Settings settings_;
  const bool native_;
  const transport::Capabilities fabric_;
};

}  // namespace grapnel::rma
