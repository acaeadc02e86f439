// The collectives of the public interface.
// SPDX-License-Identifier: Apache-2.0
#include "collective/collectives.hpp"

#include "runtime/implementation.hpp"

namespace grapnel {

Status Runtime::broadcast(void* data, std::size_t bytes, Rank root) {
  return broadcast(implementation_->world, data, bytes, root);
}
Status Runtime::broadcast(const Group& group, void* data, std::size_t bytes, Rank root) {
  const progress::WaitScope scope("broadcast");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "broadcast"));
  return implementation_->collectives->broadcast(*members, data, bytes, root);
}

Status Runtime::reduce(const Reduction& reduction, const void* source, void* destination, std::size_t count,
                       Rank root) {
  return reduce(implementation_->world, reduction, source, destination, count, root);
}
Status Runtime::reduce(const Group& group, const Reduction& reduction, const void* source, void* destination,
                       std::size_t count, Rank root) {
  const progress::WaitScope scope("reduce");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "reduce"));
  return implementation_->collectives->reduce(*members, reduction, source, destination, count, root);
}

Status Runtime::allreduce(const Reduction& reduction, const void* source, void* destination, std::size_t count) {
  return allreduce(implementation_->world, reduction, source, destination, count);
}
Status Runtime::allreduce(const Group& group, const Reduction& reduction, const void* source, void* destination,
                          std::size_t count) {
  const progress::WaitScope scope("allreduce");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "allreduce"));
  return implementation_->collectives->allreduce(*members, reduction, source, destination, count);
}

Status Runtime::allgather(const void* source, void* destination, std::size_t bytes) {
  return allgather(implementation_->world, source, destination, bytes);
}
Status Runtime::allgather(const Group& group, const void* source, void* destination, std::size_t bytes) {
  const progress::WaitScope scope("allgather");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "allgather"));
  return implementation_->collectives->allgather(*members, source, destination, bytes);
}

Status Runtime::alltoall(const void* source, void* destination, std::size_t bytes) {
  return alltoall(implementation_->world, source, destination, bytes);
}
Status Runtime::alltoall(const Group& group, const void* source, void* destination, std::size_t bytes) {
  const std::vector<std::size_t> lengths(group.members().size(), bytes);
  return alltoall(group, source, lengths, destination, lengths);
}
Status Runtime::alltoall(const Group& group, const void* source, std::span<const std::size_t> send_bytes,
                         void* destination, std::span<const std::size_t> receive_bytes) {
  const progress::WaitScope scope("alltoall");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "alltoall"));
  return implementation_->collectives->alltoall(*members, source, send_bytes, destination, receive_bytes);
}

}  // namespace grapnel
