// The settings of the layer locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "grapnel/lock.hpp"

namespace grapnel::locks {

struct Settings {
  LockKind kind = LockKind::cohort;           ///< of locks that are created without a kind
  std::uint64_t backoff_ns = 2'000;           ///< first pause of locks that try again
  std::uint64_t backoff_most_ns = 1'000'000;  ///< and the longest

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::locks
