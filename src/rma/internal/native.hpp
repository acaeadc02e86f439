// The way that takes no processor at the target: the transport's own put and get, where hardware does them.
//
// The server sees nothing of these, so the origin keeps order: it remembers by which way its unacknowledged writes to a
// node went, and completes them before an operation takes another way. A native put is complete at the target after a
// flush of its endpoint. Needs the client's Guard.
// Source: armci-multiprotocol, section 2 (choosing between active messages and remote memory copies).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "grapnel/status.hpp"
#include "progress/client.hpp"
#include "rma/internal/operation.hpp"
#include "segment/segment.hpp"
#include "transport/transport.hpp"

namespace grapnel::rma {

class NativePath {
 public:
  NativePath(progress::Client& client, std::size_t node_count) : client_(client), unflushed_(node_count) {}

  Status put(NodeId node, Operation& operation, const segment::RemoteRegion& region, std::uint64_t address,
             ByteView data);
  Status get(NodeId node, Operation& operation, const segment::RemoteRegion& region, std::uint64_t address,
             ByteSpan destination);

  /// Puts that the target may not have yet: any, or any that may have touched [address, address+bytes).
  bool unflushed(NodeId node) const {
    const Hull& hull = unflushed_[index(node)];
    return hull.flushing > 0 || hull.begin < hull.end;
  }
  bool unflushed(NodeId node, std::uint64_t address, std::size_t bytes) const {
    const Hull& hull = unflushed_[index(node)];
    return hull.flushing > 0 || (address < hull.end && hull.begin < address + bytes);
  }
  /// They are complete at the target on return. One flush per node, all at once.
  Status flush(NodeId node) { return flush({&node, 1}); }
  Status flush(std::span<const NodeId> nodes);

  /// Segments are about to be freed: every key is dropped, and imported again at its next use.
  void forget_keys() { keys_.clear(); }

 private:
  Result<const transport::RemoteKey*> key_of(transport::EndpointId endpoint, const segment::RemoteRegion& region);
  template <typename Send>
  Status run(NodeId node, Operation& operation, const segment::RemoteRegion& region, Send send);

  progress::Client& client_;
  /// The smallest interval around all unflushed puts to a node. The fabric orders nothing, so what overlaps it waits
  /// for a flush; a stream of neighbouring puts does not.
  struct Hull {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t flushing = 0;  ///< threads whose flush is under way; what they flush is in no interval any more
  };
  std::vector<Hull> unflushed_;                                          ///< by node
  std::map<std::uint64_t, std::unique_ptr<transport::RemoteKey>> keys_;  ///< by region id
};

}  // namespace grapnel::rma
