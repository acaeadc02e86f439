// One UCX context: what the workers and the registered memory of a rank share. It lives until the last of them is gone,
// or to the end of the process where a worker ended with transfers that UCX never ends.
//
// Threads: any; the context is created for workers in several threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <memory>

#include "transport/ucx/ucx_adapter.hpp"
#include "transport/ucx/ucx_settings.hpp"

namespace grapnel::transport::ucx {

class Context {
 public:
  /// `atomic_device` may be null: no native atomics.
  static Result<std::shared_ptr<const Context>> create(UcxSettings settings,
                                                       std::shared_ptr<const AtomicDevice> atomic_device = nullptr);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() {
    if (!has_lost_transfers_.load(std::memory_order_relaxed)) ucp_cleanup(handle_);
  }

  ucp_context_h handle() const { return handle_; }
  const UcxSettings& settings() const { return settings_; }
  const std::shared_ptr<const AtomicDevice>& atomic_device() const { return atomic_device_; }
  /// One worker more is made; how many those are.
  std::size_t count_worker() const { return workers_.fetch_add(1, std::memory_order_relaxed) + 1; }
  /// A worker was destroyed before UCX had ended its bulk transfers. Their requests keep memory registered, over which
  /// ucp_cleanup aborts from UCX 1.17 on ("region->refcount == 0"); so it is not called. Any thread.
  void keep_lost_transfers() const { has_lost_transfers_.store(true, std::memory_order_relaxed); }

 private:
  Context(ucp_context_h handle, UcxSettings settings, std::shared_ptr<const AtomicDevice> atomic_device)
      : handle_(handle), settings_(std::move(settings)), atomic_device_(std::move(atomic_device)) {}

  ucp_context_h handle_;
  UcxSettings settings_;
  std::shared_ptr<const AtomicDevice> atomic_device_;
  /// Relaxed: the count of the shared pointer orders it before the destructor.
  mutable std::atomic<bool> has_lost_transfers_{false};
  mutable std::atomic<std::size_t> workers_{0};  ///< relaxed: a number only
};

}  // namespace grapnel::transport::ucx
