// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.hpp"

#include "base/codec.hpp"
#include "base/variables.hpp"

namespace grapnel::probe {
namespace {

std::size_t node_memory_bytes(const launch::NodeMap&, NodeId) { return 64; }

Result<std::unique_ptr<core::Service>> open(core::Core& core, progress::HandlerId first) {
  return std::unique_ptr<core::Service>(std::make_unique<Probe>(core, first));
}

}  // namespace

const core::ServiceType kService{"probe", Settings::group, node_memory_bytes, 1, open};

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(), {base::integer("GRAPNEL_PROBE_STEP", "what a ping adds", "1..1000", &Settings::step, 1, 1000)}};
  return settings;
}

Probe::Probe(core::Core& core, progress::HandlerId handler)
    : launch_(core.launch),
      client_(core.client),
      step_(core.config.get<Settings>().step),
      handler_(handler),
      sum_(core.launch.node_memory().carve<std::atomic<std::uint64_t>>(1).front()) {
  if (core.server == nullptr) return;
  core.server->handlers().add(
      handler_, {"ping", sizeof(std::uint64_t), sizeof(std::uint64_t), false, [this](progress::Request& request) {
                   sum_.fetch_add(request.body_as<std::uint64_t>(), std::memory_order_relaxed);
                   return progress::Outcome::done;
                 }});
}

Status Probe::ping(NodeId node) {
  if (node == launch_.node()) {
    sum_.fetch_add(step_, std::memory_order_relaxed);
    shared_.add(1);
    return {};
  }
  progress::OutgoingRequest request;
  request.handler = handler_;
  request.body = base::bytes_of(step_);
  request.write = true;
  progress::Client::Guard guard(*client_);
  if (const auto sent = client_->send(node, request); !sent) return sent.status();
  wire_.add(1);
  return client_->drain(node);
}

void Probe::append_counts(std::vector<OperationCount>& rows) const {
  rows.push_back({"probe", shared_.value(), 0, wire_.value(), 0, wire_.value()});
}

}  // namespace grapnel::probe
