// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_transport.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "os/limits.hpp"
#include "transport/ucx/ucx_context.hpp"
#include "transport/ucx/ucx_memory.hpp"
#include "transport/ucx/ucx_signals.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport {
namespace ucx {

// UCX aborts the process where its first ones, or its own thread, are refused.
constexpr std::size_t kDescriptorsToStart = 8;

Result<std::shared_ptr<const Context>> Context::create(UcxSettings settings,
                                                       std::shared_ptr<const AtomicDevice> atomic_device) {
  Result<ucp_config_t*> config = make_ucx_config(settings);
  if (!config.ok()) return config.status();
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  // Without hardware for it, UCX would emulate: any address written unchecked, by the target's worker.
  if (settings.native == NativeWay::adapter) params.features |= UCP_FEATURE_RMA;
  params.mt_workers_shared = 1;
  ucp_context_h handle = nullptr;
  const ucs_status_t status = ucp_init(&params, *config, &handle);
  ucp_config_release(*config);
  if (status != UCS_OK) {
    return Status{Code::unavailable,
                  os::with_limits_met(fmt::format("UCX has no usable transport for UCX_TLS={}: {}; `grapnel info` "
                                                  "lists those of this machine",
                                                  settings.transports, ucs_status_string(status)))};
  }
  return std::shared_ptr<const Context>(new Context(handle, std::move(settings), std::move(atomic_device)));
}

namespace {

// A library's constructors run after those of the libraries that it needs, so UCX's has run; and before main, or before
// dlopen returns, so the program has not seen UCX's handlers. In this file, which no static link leaves out.
[[gnu::constructor]] void at_load() { give_back_signals(); }

class UcxTransport final : public Transport {
 public:
  UcxTransport(std::shared_ptr<const Context> context, const NativeAtomics& atomics) : context_(std::move(context)) {
    const UcxSettings& settings = context_->settings();
    capabilities_.name = fmt::format("ucx ({})", settings.transports);
    capabilities_.native_put = capabilities_.native_get = settings.native != NativeWay::none;
    capabilities_.detects_dead_peers = settings.detects_dead_peers;
    capabilities_.native_atomics = atomics;
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Worker>> create_worker(MessageSink& sink) override {
    return UcxWorker::create(context_, sink);
  }

  Result<std::unique_ptr<RegisteredMemory>> register_memory(ByteSpan memory, Access access) override {
    return register_ucx_memory(context_, memory, access);
  }

 private:
  std::shared_ptr<const Context> context_;
  Capabilities capabilities_;
};

// The first device that the settings choose and whose atomics suffice; else none.
std::shared_ptr<const AtomicDevice> choose_atomic_device(const UcxSettings& settings,
                                                         const std::vector<TransportRow>& rows,
                                                         NativeAtomics& atomics) {
  if (settings.native != NativeWay::adapter) return nullptr;
  for (const TransportRow& row : rows) {
    const TransportFact* const fact = find_fact(row.name);
    if (fact == nullptr || fact->native != NativeWay::adapter || !selects(settings.transports, *fact)) continue;
    if (!is_chosen_device(row.device)) continue;
    atomics = atomics_of(row.name, row.device);
    if (!atomics.suffice()) continue;
    if (auto device = AtomicDevice::open(row.name, row.device)) return *std::move(device);
  }
  atomics = {};
  return nullptr;
}

}  // namespace
}  // namespace ucx

Result<std::unique_ptr<Transport>> make_ucx_transport(const base::Config& config, const launch::NodeMap& nodes,
                                                      NodeId me, std::uint64_t secret,
                                                      const std::vector<std::string>& interfaces) {
  GRAPNEL_TRY(os::check_room(ucx::kDescriptorsToStart));
  Result<std::vector<TransportRow>> rows = describe_transports();
  if (!rows.ok()) return rows.status();
  ucx::UcxSettings settings = ucx::choose_settings(config, nodes, *rows);
  if (!nodes.one_machine()) ucx::choose_devices(settings, *rows, interfaces);
  settings.secret = secret;
  NativeAtomics atomics;
  auto device = ucx::choose_atomic_device(settings, *rows, atomics);
  auto context = ucx::Context::create(std::move(settings), std::move(device));
  if (!context.ok()) return ucx::with_devices(context.status(), *rows);
  base::log_info("node {}: UCX transports {}", index(me), (*context)->settings().transports);
  return std::unique_ptr<Transport>(std::make_unique<ucx::UcxTransport>(std::move(*context), atomics));
}

}  // namespace grapnel::transport
