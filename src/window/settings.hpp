// The settings of the layer window.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/config.hpp"
#include "grapnel/lock.hpp"

namespace grapnel::window {

struct Settings {
  bool enabled = true;                                 ///< read by libgrapnel-mpi alone
  LockKind lock = LockKind::reader_writer;             ///< of windows that are made without a kind
  AtomicDomain lock_domain = AtomicDomain::processor;  ///< of windows that are made without one

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::window
