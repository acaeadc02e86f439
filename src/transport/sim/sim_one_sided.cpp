// One-sided operations of a simulated worker: registered memory, its keys, native put, get and atomics.
// The worker checks a request against the transport's contract; NativeQueue and AtomicQueue execute it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "transport/sim/sim_transport.hpp"
#include "transport/sim/sim_use.hpp"

namespace grapnel::transport::sim {
namespace {

class SimRegisteredMemory final : public RegisteredMemory {
 public:
  SimRegisteredMemory(SimNetwork& network, ByteSpan memory) : network_(network), id_(network.add_region(memory)) {}
  ~SimRegisteredMemory() override { network_.remove_region(id_); }
  SimRegisteredMemory(const SimRegisteredMemory&) = delete;
  SimRegisteredMemory& operator=(const SimRegisteredMemory&) = delete;
  Bytes key() const override { return base::Encoder().put(id_).take(); }

 private:
  SimNetwork& network_;
  const std::uint64_t id_;
};

class SimRemoteKey final : public RemoteKey {
 public:
  SimRemoteKey(EndpointId endpoint, std::uint64_t region) : endpoint_(endpoint), region_(region) {}
  EndpointId endpoint() const { return endpoint_; }
  std::uint64_t region() const { return region_; }

 private:
  const EndpointId endpoint_;
  const std::uint64_t region_;
};

}  // namespace

Result<std::unique_ptr<RegisteredMemory>> SimTransport::register_memory(ByteSpan memory, Access access) {
  if (access == Access::atomics && !capabilities_.native_atomics.suffice()) {
    return Status(Code::unavailable, "the simulated network was made without native atomics");
  }
  return std::unique_ptr<RegisteredMemory>(std::make_unique<SimRegisteredMemory>(network_, memory));
}

Result<std::unique_ptr<RemoteKey>> SimWorker::import_key(EndpointId endpoint, ByteView key) {
  const Use use(*this);
  const auto region = base::Decoder(key).get<std::uint64_t>();
  if (!region || key.size() != sizeof(*region)) {
    return Status(Code::invalid_argument, fmt::format("{} bytes that are no sim key", key.size()));
  }
  line_of(endpoint);
  return std::unique_ptr<RemoteKey>(std::make_unique<SimRemoteKey>(endpoint, *region));
}

Result<Sent> SimWorker::put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  const Use use(*this);
  const auto& sim_key = static_cast<const SimRemoteKey&>(key);
  GRAPNEL_CHECK(options_.native_put, "a native put over a transport that has none");
  GRAPNEL_CHECK(sim_key.endpoint() == to, "a key used with another endpoint than the one it was imported for");
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(to);
  GRAPNEL_TRY(failure_of(line, now_ns));
  NativeOperation operation;
  operation.line = &line;
  operation.is_put = true;
  operation.source = local;
  operation.remote_address = remote_address;
  operation.region = sim_key.region();
  operation.sequence = ++sequence_;
  operation.completion = completion;
  return natives_.start(std::move(operation), now_ns);
}

Result<Sent> SimWorker::get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  const Use use(*this);
  const auto& sim_key = static_cast<const SimRemoteKey&>(key);
  GRAPNEL_CHECK(options_.native_get, "a native get over a transport that has none");
  GRAPNEL_CHECK(sim_key.endpoint() == from, "a key used with another endpoint than the one it was imported for");
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(from);
  GRAPNEL_TRY(failure_of(line, now_ns));
  NativeOperation operation;
  operation.line = &line;
  operation.destination = local;
  operation.remote_address = remote_address;
  operation.region = sim_key.region();
  operation.completion = completion;
  return natives_.start(std::move(operation), now_ns);
}

Result<Sent> SimWorker::open_atomics(EndpointId to, Completion) {
  const Use use(*this);
  if (!options_.native_atomics) return Worker::open_atomics(to, {});
  GRAPNEL_TRY(failure_of(line_of(to), host_.now_ns()));
  return Sent::done;
}

Result<Sent> SimWorker::atomic(EndpointId to, const Atomic& what, std::uint64_t* old_value,
                               std::uintptr_t remote_address, const RemoteKey& key, Completion completion) {
  const Use use(*this);
  const auto& sim_key = static_cast<const SimRemoteKey&>(key);
  GRAPNEL_CHECK(options_.native_atomics && what.kind != Atomic::Kind::swap, "an atomic over a transport without it");
  GRAPNEL_CHECK(sim_key.endpoint() == to, "a key used with another endpoint than the one it was imported for");
  GRAPNEL_CHECK(remote_address % sizeof(std::uint64_t) == 0, "an atomic at {:#x}, which is not aligned",
                remote_address);
  const std::uint64_t now_ns = host_.now_ns();
  Line& line = line_of(to);
  GRAPNEL_TRY(failure_of(line, now_ns));
  return atomics_.start(line, {line.connection, what, sim_key.region(), remote_address}, old_value, completion, now_ns);
}

}  // namespace grapnel::transport::sim
