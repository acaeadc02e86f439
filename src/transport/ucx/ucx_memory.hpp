// Registered memory and remote keys. With copies between processes both are empty: the kernel needs no preparation.
//
// Threads: registration any; a RemoteKey belongs to its worker's thread, and ends before the worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/transport.hpp"
#include "transport/ucx/ucx_context.hpp"

namespace grapnel::transport::ucx {

/// Errors: unavailable without native puts and gets; system.
Result<std::unique_ptr<RegisteredMemory>> register_ucx_memory(std::shared_ptr<const Context> context, ByteSpan memory);

class UcxRemoteKey final : public RemoteKey {
 public:
  explicit UcxRemoteKey(ucp_rkey_h handle) : handle_(handle) {}
  UcxRemoteKey(const UcxRemoteKey&) = delete;
  UcxRemoteKey& operator=(const UcxRemoteKey&) = delete;
  ~UcxRemoteKey() override {
    if (handle_ != nullptr) ucp_rkey_destroy(handle_);
  }
  ucp_rkey_h handle() const { return handle_; }

 private:
  ucp_rkey_h handle_;
};

}  // namespace grapnel::transport::ucx
