// SPDX-License-Identifier: Apache-2.0
#include "rma/internal/native.hpp"

#include <algorithm>

namespace grapnel::rma {

Result<const transport::RemoteKey*> NativePath::key_of(transport::EndpointId endpoint,
                                                       const segment::RemoteRegion& region) {
  auto& key = keys_[region.id];
  if (!key) {
    GRAPNEL_ASSIGN_OR_RETURN(auto imported, client_.worker().import_key(endpoint, region.key));
    key = std::move(imported);
  }
  return key.get();
}

template <typename Send>
Status NativePath::run(NodeId node, Operation& operation, const segment::RemoteRegion& region, Send send) {
  const auto endpoint = client_.endpoint(node);
  if (!endpoint) return endpoint.status();
  GRAPNEL_ASSIGN_OR_RETURN(const auto key, key_of(*endpoint, region));
  const transport::Completion completion{[](void* context, const Status& outcome) {
                                           auto& whose = *static_cast<Operation*>(context);
                                           --whose.pending;
                                           if (!outcome.ok()) whose.fail(outcome);
                                         },
                                         &operation};
  ++operation.pending;
  const auto sent = send(*endpoint, *key, completion);
  if (!sent || *sent == transport::Sent::done) --operation.pending;
  return sent.status();
}

Status NativePath::put(NodeId node, Operation& operation, const segment::RemoteRegion& region, std::uint64_t address,
                       ByteView data) {
  Hull& hull = unflushed_[index(node)];
  hull.begin = hull.begin < hull.end ? std::min(hull.begin, address) : address;
  hull.end = std::max(hull.end, address + data.size());
  operation.sent_to(node);  // what the fabric could not take at once must not wait for our next call
  return run(node, operation, region, [&](auto endpoint, const auto& key, const auto& completion) {
    return client_.worker().put(endpoint, data, address, key, completion);
  });
}

Status NativePath::get(NodeId node, Operation& operation, const segment::RemoteRegion& region, std::uint64_t address,
                       ByteSpan destination) {
  return run(node, operation, region, [&](auto endpoint, const auto& key, const auto& completion) {
    return client_.worker().get(endpoint, destination, address, key, completion);
  });
}

Status NativePath::flush(std::span<const NodeId> nodes) {
  std::vector<NodeId> dirty;
  for (const NodeId node : nodes) {
    if (!unflushed(node)) continue;
    Hull& hull = unflushed_[index(node)];
    hull.begin = hull.end = 0;
    ++hull.flushing;
    dirty.push_back(node);
  }
  if (dirty.empty()) return {};
  Status flushed = client_.drain(dirty);  // waits for flushes that are under way, then makes its own
  for (const NodeId node : dirty) --unflushed_[index(node)].flushing;
  return flushed;
}

}  // namespace grapnel::rma
