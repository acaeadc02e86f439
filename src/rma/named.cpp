// A put to memory that its owner has named to the caller: no look-up of the place, which would be a round trip where
// the caller is no member of the allocation.
//
// The server checks the place all the same. The waits call `look`, so that a caller that empties its inbox there is in
// no ring of ranks that wait for room in each other's inboxes: a letter that waits for such room holds up what its
// origin has sent behind it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "rma/rma.hpp"

namespace grapnel::rma {

Result<std::uint64_t> Rma::put_to_named(ByteView source, std::byte* remote, Rank target,
                                        const std::function<void()>& look) {
  if (source.empty()) return std::uint64_t{0};
  if (is_local(target)) {
    rma::copy(remote, source.data(), source.size());
    return std::uint64_t{0};
  }
  const ContiguousTransfer what{OperationKind::put, {},    const_cast<std::byte*>(source.data()), remote,
                                source.size(),      target};
  GRAPNEL_TRY(check_local(what));
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(before_messages(node_of(target)));
  GRAPNEL_TRY(client_->endpoint(node_of(target)).status());
  const std::uint64_t messages = client_->messages();
  // A slot of the table and not the stack: where the job ends in the middle, what arrives late still finds it.
  Handle handle;
  Operation& operation = handles_.of(handle);
  Status left = send_to_named(what, operation, look);
  if (operation.pending == 0) handles_.release(handle);
  if (!left.ok()) return left;
  return client_->messages() - messages;
}

Status Rma::send_to_named(const ContiguousTransfer& what, Operation& operation, const std::function<void()>& look) {
  const NodeId node = node_of(what.target);
  const bool bulk = what.bytes >= settings_.bulk_bytes;
  const ByteView source(static_cast<const std::byte*>(what.local), what.bytes);
  const auto wait_until = [&](progress::WaitKind kind, const auto& ready) {
    return client_->wait_until(
        [&] {
          look();
          return ready();
        },
        progress::Waiting::kForever,
        [kind, node] {
          return progress::WaitSubject{kind, "put", {index(node)}};
        });
  };
  const std::size_t most = bulk ? source.size() : remote_->chunk_bytes();
  for (std::size_t at = 0; at < source.size(); at += most) {
    const ByteView part = source.subspan(at, std::min(most, source.size() - at));
    const auto has_room = [&] { return client_->sends_at_once(node, bulk ? 0 : part.size()); };
    if (!has_room()) GRAPNEL_TRY(wait_until(progress::WaitKind::window, has_room));
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(what.remote) + at;
    GRAPNEL_TRY(bulk ? remote_->put_bulk(node, operation, address, part, {})
                     : remote_->put(node, operation, address, part, {}));
  }
  const auto has_left = [&] { return operation.pending == 0 && client_->try_drain(node); };
  if (!has_left()) GRAPNEL_TRY(wait_until(progress::WaitKind::departure, has_left));
  return operation.failure;
}

}  // namespace grapnel::rma
