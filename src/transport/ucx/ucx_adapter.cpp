// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_adapter.hpp"

#include <fmt/format.h>

#include <cstring>

#include "os/limits.hpp"
#include "transport/ucx/ucx_status.hpp"

namespace grapnel::transport::ucx {
namespace {

struct Found {
  uct_component_h component = nullptr;
  uct_md_h domain = nullptr;  ///< open
};

bool has_device(uct_md_h domain, std::string_view transport, std::string_view device) {
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &resources, &count) != UCS_OK) return false;
  bool found = false;
  for (unsigned i = 0; i < count; ++i) found |= resources[i].tl_name == transport && resources[i].dev_name == device;
  uct_release_tl_resource_list(resources);
  return found;
}

// Registered for good and not through UCX's cache, whose hooks would belong to the whole process.
uct_md_h open_domain(uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return nullptr;
  static_cast<void>(uct_config_modify(config, "REG_METHODS", "direct"));  // components without it have no cache
  uct_md_h domain = nullptr;
  const ucs_status_t opened = uct_md_open(component, name, config, &domain);
  uct_config_release(config);
  return opened == UCS_OK ? domain : nullptr;
}

Found find_in(uct_component_h component, std::string_view transport, std::string_view device) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0) return {};
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return {};
  for (const uct_md_resource_desc_t& each : domains) {
    const uct_md_h domain = open_domain(component, each.md_name);
    if (domain == nullptr) continue;
    if (has_device(domain, transport, device)) return {component, domain};
    uct_md_close(domain);
  }
  return {};
}

Found find_domain(std::string_view transport, std::string_view device) {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) != UCS_OK) return {};
  Found found;
  for (unsigned i = 0; i < count && found.domain == nullptr; ++i) found = find_in(components[i], transport, device);
  // A component's handle stays valid: it is a part of the library.
  uct_release_component_list(components);
  return found;
}

Bytes bytes_at(const void* first, std::size_t count) {
  const auto* const begin = static_cast<const std::byte*>(first);
  return {begin, begin + count};
}

}  // namespace

NativeAtomics atomics_of(std::string_view transport, std::string_view device) {
  const auto opened = AtomicDevice::open(transport, device);
  if (!opened) return {};
  const auto interface = AtomicInterface::create(*opened, nullptr, nullptr);
  return interface ? (*interface)->atomics() : NativeAtomics{};
}

// ---- the device

Result<std::shared_ptr<const AtomicDevice>> AtomicDevice::open(std::string_view transport, std::string_view device) {
  const Found found = find_domain(transport, device);
  if (found.domain == nullptr) {
    return Status(Code::unavailable, fmt::format("UCX has no {} on {}", transport, device));
  }
  return std::shared_ptr<const AtomicDevice>(
      new AtomicDevice(found.component, found.domain, std::string(transport), std::string(device)));
}

AtomicDevice::~AtomicDevice() { uct_md_close(domain_); }

// ---- memory

Result<std::unique_ptr<AtomicMemory>> AtomicMemory::create(std::shared_ptr<const AtomicDevice> device,
                                                           ByteSpan memory) {
  const uct_md_h domain = device->domain();
  uct_mem_h handle = nullptr;
  const ucs_status_t registered = uct_md_mem_reg(domain, memory.data(), memory.size(), UCT_MD_MEM_ACCESS_ALL, &handle);
  if (registered != UCS_OK) {
    const Status why = to_local_status(registered, fmt::format("register {} bytes for atomics", memory.size()));
    return Status(why.code(), why.message() + "; raise the limit of locked memory (ulimit -l)");
  }
  std::unique_ptr<AtomicMemory> created(new AtomicMemory(std::move(device), handle));
  uct_md_attr_t attributes{};
  GRAPNEL_TRY(to_local_status(uct_md_query(domain, &attributes), "describe a memory domain"));
  created->key_.resize(attributes.rkey_packed_size);
  GRAPNEL_TRY(to_local_status(uct_md_mkey_pack(domain, handle, created->key_.data()), "pack a key for atomics"));
  return created;
}

AtomicMemory::~AtomicMemory() { static_cast<void>(uct_md_mem_dereg(device_->domain(), handle_)); }

// ---- the interface

Result<std::unique_ptr<AtomicInterface>> AtomicInterface::create(std::shared_ptr<const AtomicDevice> device,
                                                                 OnFailure failed, void* arg) {
  std::unique_ptr<AtomicInterface> created(new AtomicInterface(std::move(device), failed, arg));
  GRAPNEL_TRY(created->open());
  return created;
}

// Without a thread of UCX's own (ASYNC_MODE_POLL): what its events would bring, a port that goes down, the endpoints'
// failures bring, too.
Status AtomicInterface::open() {
  GRAPNEL_TRY(to_local_status(ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async_), "make a context of events"));
  GRAPNEL_TRY(
      to_local_status(uct_worker_create(async_, UCS_THREAD_MODE_SERIALIZED, &worker_), "make a worker for atomics"));
  uct_iface_config_t* config = nullptr;
  GRAPNEL_TRY(to_local_status(
      uct_md_iface_config_read(device_->domain(), device_->transport().c_str(), nullptr, nullptr, &config),
      "read an interface's configuration"));
  // No message arrives here: its buffers would be megabytes. Where a setting has another name the default holds.
  static_cast<void>(uct_config_modify(config, "RX_QUEUE_LEN", "16"));
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_FEATURES;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = device_->transport().c_str();
  params.mode.device.dev_name = device_->device().c_str();
  params.err_handler = on_error;
  params.err_handler_arg = this;
  params.features = UCT_IFACE_FEATURE_AMO64;
  const ucs_status_t opened = uct_iface_open(device_->domain(), worker_, &params, config, &interface_);
  uct_config_release(config);
  GRAPNEL_TRY(
      to_local_status(opened, fmt::format("open {} on {} for atomics", device_->transport(), device_->device())));
  GRAPNEL_TRY(to_local_status(uct_iface_query(interface_, &attributes_), "describe an interface"));
  uct_iface_progress_enable(interface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  constexpr std::uint64_t kEvents = UCT_IFACE_FLAG_EVENT_FD | UCT_IFACE_FLAG_EVENT_SEND_COMP;
  if ((attributes_.cap.event_flags & kEvents) != kEvents) return {};
  return to_local_status(uct_iface_event_fd_get(interface_, &event_fd_), "make an interface's event descriptor");
}

AtomicInterface::~AtomicInterface() {
  for (const uct_ep_h endpoint : endpoints_) uct_ep_destroy(endpoint);
  if (interface_ != nullptr) uct_iface_close(interface_);
  if (worker_ != nullptr) uct_worker_destroy(worker_);
  if (async_ != nullptr) ucs_async_context_destroy(async_);
}

// Where they are atomic for processors only, or reach no endpoint by its address, there are none for us.
NativeAtomics AtomicInterface::atomics() const {
  constexpr std::uint64_t kNeeded = UCT_IFACE_FLAG_ATOMIC_DEVICE | UCT_IFACE_FLAG_CONNECT_TO_EP;
  if ((attributes_.cap.flags & kNeeded) != kNeeded) return {};
  const std::uint64_t fetching = attributes_.cap.atomic64.fop_flags;
  const auto has = [&](uct_atomic_op_t operation) { return (fetching & UCS_BIT(operation)) != 0; };
  return {has(UCT_ATOMIC_OP_ADD), has(UCT_ATOMIC_OP_CSWAP), has(UCT_ATOMIC_OP_SWAP)};
}

Result<uct_ep_h> AtomicInterface::make_endpoint() {
  uct_ep_params_t params{};
  params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
  params.iface = interface_;
  uct_ep_h endpoint = nullptr;
  GRAPNEL_TRY(to_local_status(uct_ep_create(&params, &endpoint), "make an endpoint for atomics"));
  endpoints_.push_back(endpoint);
  return endpoint;
}

Result<AtomicAddress> AtomicInterface::address_of(uct_ep_h endpoint) const {
  AtomicAddress address{Bytes(attributes_.device_addr_len), Bytes(attributes_.ep_addr_len)};
  GRAPNEL_TRY(to_local_status(
      uct_iface_get_device_address(interface_, reinterpret_cast<uct_device_addr_t*>(address.device.data())),
      "read a device's address"));
  GRAPNEL_TRY(to_local_status(uct_ep_get_address(endpoint, reinterpret_cast<uct_ep_addr_t*>(address.endpoint.data())),
                              "read an endpoint's address"));
  return address;
}

Status AtomicInterface::connect(uct_ep_h endpoint, ByteView device_address, ByteView endpoint_address) {
  const bool fits =
      device_address.size() == attributes_.device_addr_len && endpoint_address.size() == attributes_.ep_addr_len;
  const Bytes device = bytes_at(device_address.data(), device_address.size());  // aligned
  const Bytes peer = bytes_at(endpoint_address.data(), endpoint_address.size());
  const auto* const there = reinterpret_cast<const uct_device_addr_t*>(device.data());
  if (!fits || uct_iface_is_reachable(interface_, there, nullptr) == 0) {
    return Status(Code::unavailable, fmt::format("native atomics: a peer's adapter cannot be reached through {} on {}; "
                                                 "choose devices of one network by UCX_NET_DEVICES",
                                                 device_->transport(), device_->device()));
  }
  return to_status(uct_ep_connect_to_ep(endpoint, there, reinterpret_cast<const uct_ep_addr_t*>(peer.data())),
                   "connect an endpoint for atomics");
}

int AtomicInterface::arm() {
  if (event_fd_ < 0) return -1;
  return uct_iface_event_arm(interface_, UCT_EVENT_SEND_COMP) == UCS_OK ? event_fd_ : -1;
}

ucs_status_t AtomicInterface::on_error(void* self, uct_ep_h endpoint, ucs_status_t) {
  const auto& interface = *static_cast<AtomicInterface*>(self);
  if (interface.failed_ != nullptr) interface.failed_(interface.failed_arg_, endpoint);
  return UCS_OK;  // handled: UCX does not end the process
}

}  // namespace grapnel::transport::ucx
