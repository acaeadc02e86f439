// A table in node memory that ranks of the node and its server change: one of them at a time, and none waits inside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "os/host.hpp"

namespace grapnel::dsm {

/// Holds the table for a moment, or does not have it: then a rank yields and the server retries.
class TableTurn {
 public:
  explicit TableTurn(os::Word& word) : word_(word) {
    std::uint32_t free = 0;
    has_ = word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  ~TableTurn() {
    if (has_) word_.store(0, std::memory_order_release);
  }
  TableTurn(const TableTurn&) = delete;
  TableTurn& operator=(const TableTurn&) = delete;
  bool has() const { return has_; }

 private:
  os::Word& word_;
  bool has_ = false;
};

}  // namespace grapnel::dsm
