// Collectives of the public interface in two steps.
// SPDX-License-Identifier: Apache-2.0
#include "collective/collectives.hpp"
#include "runtime/implementation.hpp"

namespace grapnel {
namespace {

Result<PendingCollective> wrapped(collective::Collectives::Started started) {
  if (!started) return started.status();
  return PendingCollective(*std::move(started));
}

}  // namespace

Result<bool> PendingCollective::test() {
  if (call_ == nullptr) return true;
  const Result<bool> done = call_->test();
  if (!done || *done) call_.reset();
  return done;
}

Status PendingCollective::wait() {
  const auto call = std::move(call_);
  return call != nullptr ? call->wait() : Status();
}

Result<PendingCollective> Runtime::start_broadcast(void* data, std::size_t bytes, Rank root) {
  return start_broadcast(implementation_->world, data, bytes, root);
}
Result<PendingCollective> Runtime::start_broadcast(const Group& group, void* data, std::size_t bytes, Rank root) {
  const progress::WaitScope scope("start_broadcast");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "start_broadcast"));
  return wrapped(implementation_->collectives->start_broadcast(*members, data, bytes, root));
}

Result<PendingCollective> Runtime::start_reduce(const Reduction& reduction, const void* source, void* destination,
                                                std::size_t count, Rank root) {
  return start_reduce(implementation_->world, reduction, source, destination, count, root);
}
Result<PendingCollective> Runtime::start_reduce(const Group& group, const Reduction& reduction, const void* source,
                                                void* destination, std::size_t count, Rank root) {
  const progress::WaitScope scope("start_reduce");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "start_reduce"));
  return wrapped(implementation_->collectives->start_reduce(*members, reduction, source, destination, count, root));
}

Result<PendingCollective> Runtime::start_allreduce(const Reduction& reduction, const void* source, void* destination,
                                                   std::size_t count) {
  return start_allreduce(implementation_->world, reduction, source, destination, count);
}
Result<PendingCollective> Runtime::start_allreduce(const Group& group, const Reduction& reduction, const void* source,
                                                   void* destination, std::size_t count) {
  const progress::WaitScope scope("start_allreduce");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "start_allreduce"));
  return wrapped(implementation_->collectives->start_allreduce(*members, reduction, source, destination, count));
}

Result<PendingCollective> Runtime::start_allgather(const void* source, void* destination, std::size_t bytes) {
  return start_allgather(implementation_->world, source, destination, bytes);
}
Result<PendingCollective> Runtime::start_allgather(const Group& group, const void* source, void* destination,
                                                   std::size_t bytes) {
  const progress::WaitScope scope("start_allgather");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "start_allgather"));
  return wrapped(implementation_->collectives->start_allgather(*members, source, destination, bytes));
}

Result<PendingCollective> Runtime::start_alltoall(const void* source, void* destination, std::size_t bytes) {
  return start_alltoall(implementation_->world, source, destination, bytes);
}
Result<PendingCollective> Runtime::start_alltoall(const Group& group, const void* source, void* destination,
                                                  std::size_t bytes) {
  const std::vector<std::size_t> lengths(group.members().size(), bytes);
  return start_alltoall(group, source, lengths, destination, lengths);
}
Result<PendingCollective> Runtime::start_alltoall(const Group& group, const void* source,
                                                  std::span<const std::size_t> send_bytes, void* destination,
                                                  std::span<const std::size_t> receive_bytes) {
  const progress::WaitScope scope("start_alltoall");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "start_alltoall"));
  return wrapped(
      implementation_->collectives->start_alltoall(*members, source, send_bytes, destination, receive_bytes));
}

}  // namespace grapnel
