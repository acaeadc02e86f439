// A transport that hands everything on, for tests that change or record something on the way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "transport/transport.hpp"

namespace grapnel::test {

/// Override what the test is about.
class PassingWorker : public transport::Worker {
 public:
  explicit PassingWorker(std::unique_ptr<transport::Worker> worker) : worker_(std::move(worker)) {}

  Bytes address() const override { return worker_->address(); }
  Result<transport::EndpointId> connect(ByteView address) override { return worker_->connect(address); }
  Result<transport::Sent> send(transport::EndpointId to, ByteView header, ByteView payload,
                               transport::Completion completion) override {
    return worker_->send(to, header, payload, completion);
  }
  Result<transport::Sent> send_whole(transport::EndpointId to, ByteView header, ByteView payload,
                                     transport::Completion completion) override {
    return worker_->send_whole(to, header, payload, completion);
  }
  Result<transport::Sent> reply(transport::ReplyPath to, ByteView header, ByteView payload,
                                transport::Completion completion) override {
    return worker_->reply(to, header, payload, completion);
  }
  void receive(transport::BulkHandle bulk, ByteSpan place, transport::Completion landed) override {
    worker_->receive(bulk, place, landed);
  }
  void decline(transport::BulkHandle bulk) override { worker_->decline(bulk); }
  Result<transport::Sent> put(transport::EndpointId to, ByteView local, std::uintptr_t remote,
                              const transport::RemoteKey& key, transport::Completion completion) override {
    return worker_->put(to, local, remote, key, completion);
  }
  Result<transport::Sent> get(transport::EndpointId from, ByteSpan local, std::uintptr_t remote,
                              const transport::RemoteKey& key, transport::Completion completion) override {
    return worker_->get(from, local, remote, key, completion);
  }
  Result<std::unique_ptr<transport::RemoteKey>> import_key(transport::EndpointId endpoint, ByteView key) override {
    return worker_->import_key(endpoint, key);
  }
  Result<transport::Sent> open_atomics(transport::EndpointId to, transport::Completion completion) override {
    return worker_->open_atomics(to, completion);
  }
  Result<transport::Sent> atomic(transport::EndpointId to, const transport::Atomic& what, std::uint64_t* old_value,
                                 std::uintptr_t remote, const transport::RemoteKey& key,
                                 transport::Completion completion) override {
    return worker_->atomic(to, what, old_value, remote, key, completion);
  }
  Result<transport::Sent> flush(transport::EndpointId endpoint, transport::Completion completion) override {
    return worker_->flush(endpoint, completion);
  }
  bool progress() override { return worker_->progress(); }
  void sleep(std::uint64_t timeout_ns) override { worker_->sleep(timeout_ns); }
  bool arm() override { return worker_->arm(); }
  void doze(std::uint64_t timeout_ns) override { worker_->doze(timeout_ns); }
  void lend() override { worker_->lend(); }
  void take_back() override { worker_->take_back(); }
  void wake() override { worker_->wake(); }
  std::size_t endpoint_count() const override { return worker_->endpoint_count(); }

 protected:
  std::unique_ptr<transport::Worker> worker_;
};

class WrappedTransport final : public transport::Transport {
 public:
  using Wrap = std::function<std::unique_ptr<transport::Worker>(std::unique_ptr<transport::Worker>)>;

  /// `transport` outlives this.
  WrappedTransport(transport::Transport& transport, Wrap wrap) : transport_(transport), wrap_(std::move(wrap)) {}
  const transport::Capabilities& capabilities() const override { return transport_.capabilities(); }
  Result<std::unique_ptr<transport::Worker>> create_worker(transport::MessageSink& sink) override {
    auto worker = transport_.create_worker(sink);
    if (!worker) return worker.status();
    return wrap_(std::move(*worker));
  }
  Result<std::unique_ptr<transport::RegisteredMemory>> register_memory(ByteSpan memory,
                                                                       transport::Access access) override {
    return transport_.register_memory(memory, access);
  }

 private:
  transport::Transport& transport_;
  const Wrap wrap_;
};

}  // namespace grapnel::test
