// One UCX context: what the workers and the registered memory of a rank share. It lives until the last of them is gone.
//
// Threads: any; the context is created for workers in several threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <memory>

#include "transport/ucx/ucx_settings.hpp"

namespace grapnel::transport::ucx {

class Context {
 public:
  static Result<std::shared_ptr<const Context>> create(Settings settings);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { ucp_cleanup(handle_); }

  ucp_context_h handle() const { return handle_; }
  const Settings& settings() const { return settings_; }

 private:
  Context(ucp_context_h handle, Settings settings) : handle_(handle), settings_(std::move(settings)) {}

  ucp_context_h handle_;
  Settings settings_;
};

}  // namespace grapnel::transport::ucx
