// SPDX-License-Identifier: Apache-2.0
#include "transport/local/local_transport.hpp"

#include "base/check.hpp"
#include "transport/local/local_worker.hpp"

namespace grapnel::transport {
namespace local {
namespace {

Status no_native() { return {Code::unavailable, "local sockets have no native put and get"}; }

}  // namespace

Result<Sent> LocalWorker::put(EndpointId, ByteView, std::uintptr_t, const RemoteKey&, Completion) {
  return no_native();
}
Result<Sent> LocalWorker::get(EndpointId, ByteSpan, std::uintptr_t, const RemoteKey&, Completion) {
  return no_native();
}
Result<std::unique_ptr<RemoteKey>> LocalWorker::import_key(EndpointId, ByteView) { return no_native(); }

namespace {

class LocalTransport final : public Transport {
 public:
  explicit LocalTransport(std::uint64_t secret) : secret_(secret) {
    capabilities_.name = "local (unix sockets)";
    capabilities_.detects_dead_peers = true;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Worker>> create_worker(MessageSink& sink) override {
    return LocalWorker::create(secret_, sink);
  }
  Result<std::unique_ptr<RegisteredMemory>> register_memory(ByteSpan, Access) override { return no_native(); }

 private:
  const std::uint64_t secret_;
  Capabilities capabilities_;
};

}  // namespace
}  // namespace local

std::unique_ptr<Transport> make_local_transport(std::uint64_t secret) {
  return std::make_unique<local::LocalTransport>(secret);
}

}  // namespace grapnel::transport
