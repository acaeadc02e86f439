// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "transport/ucx/ucx_transport.hpp"
#include "transport/wire.hpp"

namespace grapnel::testing {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

class WorkerWire final : public Wire, private transport::MessageSink {
 public:
  WorkerWire() {
    launch::NodeMap nodes;
    nodes.node_of = {NodeId{0}, NodeId{1}};
    nodes.ranks_of = {{Rank{0}}, {Rank{1}}};
    nodes.machine_of = {"here", "here"};
    transport_ = must(transport::make_ucx_transport(base::Config{}, nodes, NodeId{0}, 1));
    worker_ = must(transport_->create_worker(*this));
  }

  Bytes address() override { return worker_->address(); }
  void connect(ByteView address) override { endpoint_ = must(worker_->connect(address)); }
  void send(ByteView header, ByteView payload) override {
    const transport::Completion completion{.notify = sent, .context = this};
    if (must(worker_->send(endpoint_, header, payload, completion)) == transport::Sent::pending) ++under_way_;
  }
  bool progress() override { return worker_->progress(); }
  std::size_t under_way() const override { return under_way_; }

 private:
  void on_bulk(const transport::BulkMessage&) override { std::abort(); }  // nothing here is that long
  void on_message(const transport::Message& message) override { Wire::on_message(message.header, message.payload); }
  void on_endpoint_failure(transport::EndpointId, const Status& why) override {
    std::fprintf(stderr, "%s\n", why.to_string().c_str());
  }
  static void sent(void* self, const Status&) { --static_cast<WorkerWire*>(self)->under_way_; }

  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<transport::Worker> worker_;
  transport::EndpointId endpoint_{};
  std::size_t under_way_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_worker_wire() { return std::make_unique<WorkerWire>(); }

}  // namespace grapnel::testing
