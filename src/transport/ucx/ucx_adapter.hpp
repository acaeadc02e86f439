// Native atomics through UCT, on interfaces of their own beside UCP's workers: UCP 1.13 uses an adapter's atomics only
// where it has all of them, swap too (docs/decisions/atomics-by-uct.md).
//
//   a context    one AtomicDevice: the memory domain in which memory is registered
//   a worker     at most one AtomicInterface: made when the worker first opens an endpoint for atomics, or a peer opens
//                one to it; from then on the adapter has its queue pairs, and the target's process has nothing to do
//
// Threads: AtomicDevice any; the others their worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace grapnel::transport::ucx {

/// Which 64-bit atomics that transport executes on that device. Opens and closes an interface: milliseconds.
NativeAtomics atomics_of(std::string_view transport, std::string_view device);

class AtomicDevice {
 public:
  /// Errors: unavailable (no such device), system.
  static Result<std::shared_ptr<const AtomicDevice>> open(std::string_view transport, std::string_view device);
  ~AtomicDevice();
  AtomicDevice(const AtomicDevice&) = delete;
  AtomicDevice& operator=(const AtomicDevice&) = delete;

  uct_component_h component() const { return component_; }
  uct_md_h domain() const { return domain_; }
  const std::string& transport() const { return transport_; }
  const std::string& device() const { return device_; }

 private:
  AtomicDevice(uct_component_h component, uct_md_h domain, std::string transport, std::string device)
      : component_(component), domain_(domain), transport_(std::move(transport)), device_(std::move(device)) {}

  const uct_component_h component_;
  const uct_md_h domain_;
  const std::string transport_, device_;
};

/// Memory that adapters may update.
class AtomicMemory {
 public:
  /// Errors: no_memory (the limit of locked memory), system.
  static Result<std::unique_ptr<AtomicMemory>> create(std::shared_ptr<const AtomicDevice> device, ByteSpan memory);
  ~AtomicMemory();
  AtomicMemory(const AtomicMemory&) = delete;
  AtomicMemory& operator=(const AtomicMemory&) = delete;
  const Bytes& key() const { return key_; }

 private:
  AtomicMemory(std::shared_ptr<const AtomicDevice> device, uct_mem_h handle)
      : device_(std::move(device)), handle_(handle) {}

  const std::shared_ptr<const AtomicDevice> device_;
  const uct_mem_h handle_;
  Bytes key_;
};

/// What a peer needs of an endpoint here, to connect its own to it.
struct AtomicAddress {
  Bytes device, endpoint;
};

class AtomicInterface {
 public:
  /// `failed(arg, endpoint)` is called from `progress` when an endpoint's peer is gone. Errors: system.
  using OnFailure = void (*)(void* arg, uct_ep_h endpoint);
  static Result<std::unique_ptr<AtomicInterface>> create(std::shared_ptr<const AtomicDevice> device, OnFailure failed,
                                                         void* arg);
  ~AtomicInterface();
  AtomicInterface(const AtomicInterface&) = delete;
  AtomicInterface& operator=(const AtomicInterface&) = delete;

  NativeAtomics atomics() const;
  /// Endpoints live as long as the interface.
  Result<uct_ep_h> make_endpoint();
  Result<AtomicAddress> address_of(uct_ep_h endpoint) const;
  /// Errors: unavailable (an address of another length, or of a device out of reach), system.
  Status connect(uct_ep_h endpoint, ByteView device_address, ByteView endpoint_address);
  bool progress() { return uct_worker_progress(worker_) != 0; }
  /// For a sleep: -1 where there is something to do at once, or the device has no events; else a descriptor that is
  /// readable when an atomic has ended.
  int arm();

 private:
  AtomicInterface(std::shared_ptr<const AtomicDevice> device, OnFailure failed, void* arg)
      : device_(std::move(device)), failed_(failed), failed_arg_(arg) {}
  Status open();
  static ucs_status_t on_error(void* self, uct_ep_h endpoint, ucs_status_t status);

  const std::shared_ptr<const AtomicDevice> device_;
  const OnFailure failed_;
  void* const failed_arg_;
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_iface_h interface_ = nullptr;
  uct_iface_attr_t attributes_{};
  int event_fd_ = -1;
  std::vector<uct_ep_h> endpoints_;
};

}  // namespace grapnel::transport::ucx
