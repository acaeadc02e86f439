// Registered memory and remote keys. With copies between processes both are empty: the kernel needs no preparation.
//
// Threads: registration any; a RemoteKey belongs to its worker's thread, and ends before the worker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "transport/transport.hpp"
#include "transport/ucx/ucx_context.hpp"

namespace grapnel::transport::ucx {

/// Errors: unavailable without native puts and gets; system.
Result<std::unique_ptr<RegisteredMemory>> register_ucx_memory(std::shared_ptr<const Context> context, ByteSpan memory,
                                                              Access access);

/// Registers so much memory, and ends the registration: no_memory with the limit and the remedy where adapters of this
/// process may not. Without an adapter nothing is tried. Errors: no_memory, system.
Status try_registration(const std::shared_ptr<const Context>& context, std::size_t bytes);

/// What an adapter's key is made of: UCP's, and UCT's, which is empty without Access::atomics. Nothing: no such key.
struct AdapterKey {
  ByteView copies, atomics;
};
std::optional<AdapterKey> read_adapter_key(ByteView key);

class UcxRemoteKey final : public RemoteKey {
 public:
  explicit UcxRemoteKey(ucp_rkey_h handle) : handle_(handle) {}
  UcxRemoteKey(const UcxRemoteKey&) = delete;
  UcxRemoteKey& operator=(const UcxRemoteKey&) = delete;
  ~UcxRemoteKey() override {
    if (atomics_) static_cast<void>(uct_rkey_release(component_, &*atomics_));
    if (handle_ != nullptr) ucp_rkey_destroy(handle_);
  }
  ucp_rkey_h handle() const { return handle_; }

  /// Takes UCT's key for atomics. Errors: system.
  Status take_atomics(uct_component_h component, ByteView key);
  /// Null where there is none.
  const uct_rkey_bundle_t* atomics() const { return atomics_ ? &*atomics_ : nullptr; }

 private:
  ucp_rkey_h handle_;
  uct_component_h component_ = nullptr;
  std::optional<uct_rkey_bundle_t> atomics_;
};

}  // namespace grapnel::transport::ucx
