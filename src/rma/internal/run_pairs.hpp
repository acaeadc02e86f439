// The rows of a transfer between two strided shapes, one by one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rma/kernels/strided.hpp"

namespace grapnel::rma {

/// Calls fn(remote offset, local offset, bytes) for each pair of contiguous runs, in packed order. The shapes have
/// equal levels and counts.
template <typename Function>
void for_each_run_pair(const Strided& remote, const Strided& local, Function&& function) {
  Walk<2> walk({&remote, &local});
  walk.run(
      0, local.total_bytes(), [&](const auto& offsets, const auto& strides, std::int64_t row_bytes, std::int64_t rows) {
        for (std::int64_t row = 0; row < rows; ++row) {
          function(offsets[0] + row * strides[0], offsets[1] + row * strides[1], static_cast<std::size_t>(row_bytes));
        }
      });
}

}  // namespace grapnel::rma
