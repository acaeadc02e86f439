// The settings of the layer rma.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/config.hpp"

namespace grapnel::rma {

enum class FenceKind { serial, overlapped };

struct Settings {
  FenceKind fence = FenceKind::overlapped;
  std::uint32_t fence_window = 16;      ///< fence requests in flight at once
  std::size_t chunk_bytes = 64 * 1024;  ///< data in one message at most
  std::size_t bulk_bytes = 256 * 1024;  ///< contiguous puts and gets at least this long go in bulk
  std::size_t native_row_bytes = 2048;  ///< strided rows at least this long go native

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::rma
