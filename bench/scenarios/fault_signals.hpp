// The signals of memory faults that this process gets, counted before they are handled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace grapnel::bench {

/// Counts SIGSEGV and SIGBUS while it is there, and passes them on to the handlers that were there before.
/// One at a time.
class FaultSignals {
 public:
  FaultSignals();
  FaultSignals(const FaultSignals&) = delete;
  FaultSignals& operator=(const FaultSignals&) = delete;
  ~FaultSignals();

  /// Since it was made.
  std::uint64_t count() const;
};

}  // namespace grapnel::bench
