// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_memory.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "os/limits.hpp"
#include "transport/pages.hpp"
#include "transport/ucx/ucx_status.hpp"

namespace grapnel::transport::ucx {
namespace {

// The kernel copies by address alone; the key only states that this memory may be reached natively.
constexpr std::byte kProcessCopyKey[] = {std::byte{'c'}};

class UcxRegisteredMemory final : public RegisteredMemory {
 public:
  UcxRegisteredMemory(std::shared_ptr<const Context> context, ucp_mem_h handle, std::unique_ptr<AtomicMemory> atomics,
                      Bytes key)
      : context_(std::move(context)), handle_(handle), atomics_(std::move(atomics)), key_(std::move(key)) {}
  UcxRegisteredMemory(const UcxRegisteredMemory&) = delete;
  UcxRegisteredMemory& operator=(const UcxRegisteredMemory&) = delete;
  ~UcxRegisteredMemory() override {
    if (handle_ != nullptr) ucp_mem_unmap(context_->handle(), handle_);
  }
  Bytes key() const override { return key_; }

 private:
  std::shared_ptr<const Context> context_;
  ucp_mem_h handle_;
  std::unique_ptr<AtomicMemory> atomics_;
  Bytes key_;
};

Status registration_failure(ucs_status_t status, std::size_t bytes) {
  const std::string limit = os::pinning_limit_met(bytes);
  if (limit.empty()) return to_local_status(status, fmt::format("register {} bytes", bytes));
  return {Code::no_memory, fmt::format("{} bytes cannot be registered: {}", bytes, limit)};
}

Result<Bytes> pack_key(ucp_context_h context, ucp_mem_h memory) {
  void* packed = nullptr;
  std::size_t bytes = 0;
  GRAPNEL_TRY(to_local_status(ucp_rkey_pack(context, memory, &packed, &bytes), "pack a remote key"));
  const auto* first = static_cast<const std::byte*>(packed);
  Bytes key(first, first + bytes);
  ucp_rkey_buffer_release(packed);
  return key;
}

}  // namespace

Result<std::unique_ptr<RegisteredMemory>> register_ucx_memory(std::shared_ptr<const Context> context, ByteSpan memory,
                                                              Access access) {
  if (access == Access::atomics && context->atomic_device() == nullptr) {
    return Status{Code::unavailable,
                  "the UCX transports " + context->settings().transports + " have no native atomics"};
  }
  switch (context->settings().native) {
    case NativeWay::none:
      return Status{Code::unavailable, "the UCX transports " + context->settings().transports +
                                           " have no native put and get; send messages instead"};
    case NativeWay::process_copy:
      return std::unique_ptr<RegisteredMemory>(std::make_unique<UcxRegisteredMemory>(
          std::move(context), nullptr, nullptr, Bytes(std::begin(kProcessCopyKey), std::end(kProcessCopyKey))));
    case NativeWay::adapter: break;
  }
  std::unique_ptr<AtomicMemory> atomics;
  if (access == Access::atomics) {
    GRAPNEL_ASSIGN_OR_RETURN(atomics, AtomicMemory::create(context->atomic_device(), memory));
  }
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = memory.data();
  params.length = memory.size();
  ucp_mem_h handle = nullptr;
  const ucs_status_t mapped = ucp_mem_map(context->handle(), &params, &handle);
  if (mapped != UCS_OK) return registration_failure(mapped, memory.size());
  Result<Bytes> key = pack_key(context->handle(), handle);
  if (!key.ok()) {
    ucp_mem_unmap(context->handle(), handle);
    return key.status();
  }
  base::Encoder both;
  both.put_string(*key).put_string(atomics != nullptr ? atomics->key() : Bytes());
  return std::unique_ptr<RegisteredMemory>(
      std::make_unique<UcxRegisteredMemory>(std::move(context), handle, std::move(atomics), both.take()));
}

Status try_registration(const std::shared_ptr<const Context>& context, std::size_t bytes) {
  if (context->settings().native != NativeWay::adapter) return {};
  const auto pages = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const ByteSpan memory(pages.get(), bytes);
  const Status refused = register_ucx_memory(context, memory, Access::copies).status();
  forget_pages(memory);
  return refused;
}

std::optional<AdapterKey> read_adapter_key(ByteView key) {
  base::Decoder decoder(key);
  const auto copies = decoder.get_string();
  const auto atomics = decoder.get_string();
  if (!copies || !atomics) return std::nullopt;
  return AdapterKey{*copies, *atomics};
}

Status UcxRemoteKey::take_atomics(uct_component_h component, ByteView key) {
  uct_rkey_bundle_t unpacked{};
  GRAPNEL_TRY(to_local_status(uct_rkey_unpack(component, key.data(), &unpacked), "import a key for atomics"));
  component_ = component;
  atomics_ = unpacked;
  return {};
}

}  // namespace grapnel::transport::ucx
