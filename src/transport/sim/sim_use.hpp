// The threads that use a simulated worker at this moment; included by the files that implement it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

#include "base/check.hpp"
#include "transport/sim/sim_transport.hpp"

namespace grapnel::transport::sim {

/// Brackets every call of a worker: one thread at a time, and what a callback may not call.
class SimWorker::Use {
 public:
  explicit Use(SimWorker& worker, bool allowed_in_callback = true) : worker_(worker) {
    const std::uint64_t me = std::hash<std::thread::id>{}(std::this_thread::get_id()) | 1;
    std::uint64_t user = 0;
    nested_ = !worker_.user_.compare_exchange_strong(user, me, std::memory_order_acquire);
    GRAPNEL_CHECK(!nested_ || user == me, "two threads of rank {} use worker {} at once", index(worker_.rank_),
                  worker_.inbox_.id);
    GRAPNEL_CHECK(allowed_in_callback || !worker_.in_callback_,
                  "rank {} calls progress, connect or sleep of a worker from inside its callback",
                  index(worker_.rank_));
  }
  ~Use() {
    if (!nested_) worker_.user_.store(0, std::memory_order_release);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  SimWorker& worker_;
  bool nested_ = false;
};

}  // namespace grapnel::transport::sim
