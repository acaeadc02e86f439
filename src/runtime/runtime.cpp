// The public interface of the core: every call hands on to the layer that does it.
// SPDX-License-Identifier: Apache-2.0
#include "grapnel/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "launch/group.hpp"
#include "runtime/assembly.hpp"
#include "runtime/implementation.hpp"

namespace grapnel {
namespace {

using rma::OperationKind;
using Contiguous = rma::ContiguousTransfer;
using StridedMove = rma::StridedTransfer;
using Vector = rma::VectorTransfer;

StridedMove strided(OperationKind kind, const void* local, const Strided& local_shape, const void* remote,
                    const Strided& remote_shape, Rank target) {
  return {kind, {}, const_cast<void*>(local), &local_shape, const_cast<void*>(remote), &remote_shape, target};
}

// Elements must not be cut: a row, or a piece, is a whole number of them.
Result<rma::Arithmetic> arithmetic_of(ElementType type, const void* scale, const Strided& shape) {
  GRAPNEL_TRY(validate(shape));
  return rma::Rma::arithmetic(type, scale, static_cast<std::size_t>(shape.count[0]));
}

Result<rma::Arithmetic> arithmetic_of(ElementType type, const void* scale, std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) GRAPNEL_TRY(rma::Rma::arithmetic(type, scale, piece.bytes).status());
  return rma::Rma::arithmetic(type, scale, 0);
}

Result<rma::UpdateTransfer> fetching(Operation operation, NumberType type, const void* source, void* old_elements,
                                     void* remote, std::size_t count, Rank target) {
  if (old_elements == nullptr && count > 0) {
    return Status(Code::invalid_argument, "fetch_and_update: no memory was given for the old elements");
  }
  return rma::Rma::update_transfer(operation, type, source, old_elements, remote, count, target);
}

}  // namespace

Runtime::Runtime(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)), rma_(implementation_->rma) {}
Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::start() {
  GRAPNEL_ASSIGN_OR_RETURN(auto foundation, runtime::real_foundation());
  return runtime::assemble(std::move(foundation));
}

Status Runtime::finish() { return implementation_->finish(); }

void Runtime::abort(int exit_code, const std::string& why) {
  implementation_->launch->abort(exit_code, why);
  std::abort();  // not reached; the compiler does not see that through a virtual call
}

Rank Runtime::rank() const { return implementation_->launch->rank(); }
int Runtime::size() const { return implementation_->launch->size(); }
NodeId Runtime::node_of(Rank rank) const {
  const auto& node_of = implementation_->launch->nodes().node_of;
  GRAPNEL_CHECK(index(rank) < node_of.size(), "rank {} was asked for its node in a job of {} ranks",
                static_cast<int>(rank), node_of.size());
  return node_of[index(rank)];
}
int Runtime::node_count() const { return static_cast<int>(implementation_->launch->nodes().node_count()); }

Result<Group> Runtime::make_group(std::span<const Rank> members) const {
  auto made = launch::make_group({members.begin(), members.end()}, rank(), size());
  return made ? Result<Group>(Group(std::make_shared<const launch::Group>(*std::move(made)))) : made.status();
}
Group Runtime::world() const { return implementation_->world; }
Result<std::vector<Bytes>> Runtime::allgather(const Group& group, ByteView mine) {
  return implementation_->allgather(group, mine);
}

Result<Memory> Runtime::allocate(std::size_t bytes, AtomicDomain domain) {
  return implementation_->allocate(implementation_->world, bytes, domain);
}
Status Runtime::free(const Memory& memory) { return implementation_->free(implementation_->world, memory); }
Result<Memory> Runtime::allocate(const Group& group, std::size_t bytes, AtomicDomain domain) {
  return implementation_->allocate(group, bytes, domain);
}
Status Runtime::free(const Group& group, const Memory& memory) { return implementation_->free(group, memory); }

Status Runtime::put(const void* source, void* remote, std::size_t bytes, Rank target) {
  return rma_->put(source, remote, bytes, target);
}
Status Runtime::get(const void* remote, void* destination, std::size_t bytes, Rank target) {
  return rma_->get(remote, destination, bytes, target);
}
Status Runtime::accumulate(ElementType type, const void* scale, const void* source, void* remote, std::size_t bytes,
                           Rank target) {
  return rma_->accumulate(type, scale, source, remote, bytes, target);
}

Status Runtime::put(const void* source, const Strided& source_shape, void* remote, const Strided& remote_shape,
                    Rank target) {
  return rma_->transfer(strided(OperationKind::put, source, source_shape, remote, remote_shape, target));
}
Status Runtime::get(const void* remote, const Strided& remote_shape, void* destination,
                    const Strided& destination_shape, Rank target) {
  return rma_->transfer(strided(OperationKind::get, destination, destination_shape, remote, remote_shape, target));
}
Status Runtime::accumulate(ElementType type, const void* scale, const void* source, const Strided& source_shape,
                           void* remote, const Strided& remote_shape, Rank target) {
  auto what = strided(OperationKind::accumulate, source, source_shape, remote, remote_shape, target);
  for (const Strided* shape : {&source_shape, &remote_shape}) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto how, arithmetic_of(type, scale, *shape));
    what.arithmetic = how;
  }
  return rma_->transfer(what);
}

Status Runtime::put(std::span<const Piece> pieces, Rank target) {
  return rma_->transfer(Vector{OperationKind::put, {}, pieces, target});
}
Status Runtime::get(std::span<const Piece> pieces, Rank target) {
  return rma_->transfer(Vector{OperationKind::get, {}, pieces, target});
}
Status Runtime::accumulate(ElementType type, const void* scale, std::span<const Piece> pieces, Rank target) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto how, arithmetic_of(type, scale, pieces));
  return rma_->transfer(Vector{OperationKind::accumulate, how, pieces, target});
}

Status Runtime::start_put(const void* source, void* remote, std::size_t bytes, Rank target, Handle* handle) {
  if (rma_->put_here(source, remote, bytes, target)) return {};
  return rma_->start(Contiguous{OperationKind::put, {}, const_cast<void*>(source), remote, bytes, target}, handle);
}
Status Runtime::start_get(const void* remote, void* destination, std::size_t bytes, Rank target, Handle* handle) {
  if (rma_->get_here(remote, destination, bytes, target)) return {};
  return rma_->start(Contiguous{OperationKind::get, {}, destination, const_cast<void*>(remote), bytes, target}, handle);
}
Status Runtime::start_accumulate(ElementType type, const void* scale, const void* source, void* remote,
                                 std::size_t bytes, Rank target, Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto how, rma::Rma::arithmetic(type, scale, bytes));
  return rma_->start(Contiguous{OperationKind::accumulate, how, const_cast<void*>(source), remote, bytes, target},
                     handle);
}
Status Runtime::start_put(const void* source, const Strided& source_shape, void* remote, const Strided& remote_shape,
                          Rank target, Handle* handle) {
  return rma_->start(strided(OperationKind::put, source, source_shape, remote, remote_shape, target), handle);
}
Status Runtime::start_get(const void* remote, const Strided& remote_shape, void* destination,
                          const Strided& destination_shape, Rank target, Handle* handle) {
  return rma_->start(strided(OperationKind::get, destination, destination_shape, remote, remote_shape, target), handle);
}
Status Runtime::start_accumulate(ElementType type, const void* scale, const void* source, const Strided& source_shape,
                                 void* remote, const Strided& remote_shape, Rank target, Handle* handle) {
  auto what = strided(OperationKind::accumulate, source, source_shape, remote, remote_shape, target);
  for (const Strided* shape : {&source_shape, &remote_shape}) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto how, arithmetic_of(type, scale, *shape));
    what.arithmetic = how;
  }
  return rma_->start(what, handle);
}
Status Runtime::start_put(std::span<const Piece> pieces, Rank target, Handle* handle) {
  return rma_->start(Vector{OperationKind::put, {}, pieces, target}, handle);
}
Status Runtime::start_get(std::span<const Piece> pieces, Rank target, Handle* handle) {
  return rma_->start(Vector{OperationKind::get, {}, pieces, target}, handle);
}
Status Runtime::start_accumulate(ElementType type, const void* scale, std::span<const Piece> pieces, Rank target,
                                 Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto how, arithmetic_of(type, scale, pieces));
  return rma_->start(Vector{OperationKind::accumulate, how, pieces, target}, handle);
}

Status Runtime::wait(Handle& handle) { return rma_->wait(handle); }
Result<bool> Runtime::test(Handle& handle) { return rma_->test(handle); }
Status Runtime::wait_implicit() { return rma_->wait_implicit(); }
Status Runtime::wait_implicit(Rank target) { return rma_->wait_implicit(target); }

Result<std::int64_t> Runtime::fetch_and_add(void* remote, std::int64_t increment, Width width, Rank target) {
  return rma_->rmw(rma::RmwOperation::fetch_and_add, remote, increment, 0, width, target);
}
Result<std::int64_t> Runtime::swap(void* remote, std::int64_t value, Width width, Rank target) {
  return rma_->rmw(rma::RmwOperation::swap, remote, value, 0, width, target);
}
Result<std::int64_t> Runtime::compare_and_swap(void* remote, std::int64_t expected, std::int64_t desired, Width width,
                                               Rank target) {
  return rma_->rmw(rma::RmwOperation::compare_and_swap, remote, desired, expected, width, target);
}

Status Runtime::update(Operation operation, NumberType type, const void* source, void* remote, std::size_t count,
                       Rank target) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what,
                           rma::Rma::update_transfer(operation, type, source, nullptr, remote, count, target));
  return rma_->transfer(what);
}
Status Runtime::fetch_and_update(Operation operation, NumberType type, const void* source, void* old_elements,
                                 void* remote, std::size_t count, Rank target) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what, fetching(operation, type, source, old_elements, remote, count, target));
  return rma_->transfer(what);
}
Status Runtime::start_update(Operation operation, NumberType type, const void* source, void* remote, std::size_t count,
                             Rank target, Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what,
                           rma::Rma::update_transfer(operation, type, source, nullptr, remote, count, target));
  return rma_->start(what, handle);
}
Status Runtime::start_fetch_and_update(Operation operation, NumberType type, const void* source, void* old_elements,
                                       void* remote, std::size_t count, Rank target, Handle* handle) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto what, fetching(operation, type, source, old_elements, remote, count, target));
  return rma_->start(what, handle);
}
Status Runtime::compare_and_update(const void* expected, const void* desired, void* old_value, void* remote,
                                   std::size_t bytes, Rank target) {
  std::uint64_t from = 0, to = 0;
  const std::size_t most = std::min(bytes, sizeof from);  // of another width nothing is read
  std::memcpy(&from, expected, most);
  std::memcpy(&to, desired, most);
  GRAPNEL_ASSIGN_OR_RETURN(const auto old_bytes, rma_->compare(remote, from, to, bytes, target));
  std::memcpy(old_value, &old_bytes, bytes);
  return {};
}

Status Runtime::fence(Rank target) { return rma_->fence({&target, 1}); }
Status Runtime::fence(std::span<const Rank> targets) { return rma_->fence(targets); }
Status Runtime::fence(const Group& group) { return rma_->fence(group.members()); }
Status Runtime::fence_all() { return rma_->fence_all(); }
Status Runtime::barrier() { return barrier(implementation_->world); }
Status Runtime::begin_barrier() { return begin_barrier(implementation_->world); }
Result<bool> Runtime::test_barrier() { return test_barrier(implementation_->world); }
Status Runtime::end_barrier() { return end_barrier(implementation_->world); }

Status Runtime::barrier(const Group& group) {
  const auto members = Implementation::sound(group, "barrier");
  return members ? implementation_->barriers->run(**members) : members.status();
}
Status Runtime::begin_barrier(const Group& group) {
  const auto members = Implementation::sound(group, "begin_barrier");
  return members ? implementation_->barriers->begin(**members) : members.status();
}
Result<bool> Runtime::test_barrier(const Group& group) {
  const auto members = Implementation::sound(group, "test_barrier");
  return members ? implementation_->barriers->test(**members) : members.status();
}
Status Runtime::end_barrier(const Group& group) {
  const auto members = Implementation::sound(group, "end_barrier");
  return members ? implementation_->barriers->end(**members) : members.status();
}
Result<CombineId> Runtime::add_combine(Combine combine) {
  if (combine == nullptr) return Status(Code::invalid_argument, "add_combine: no function was given");
  GRAPNEL_ASSIGN_OR_RETURN(const auto number, implementation_->barriers->add_combine(combine));
  GRAPNEL_TRY(barrier());  // servers join for ranks of their node that may be ahead of their own process
  return CombineId(number);
}
Result<Bytes> Runtime::barrier_with(CombineId combine, ByteView payload) {
  return barrier_with(implementation_->world, combine, payload);
}
Result<Bytes> Runtime::barrier_with(const Group& group, CombineId combine, ByteView payload) {
  GRAPNEL_TRY(begin_barrier_with(group, combine, payload));
  GRAPNEL_TRY(end_barrier(group));
  return joined(group);
}
Status Runtime::begin_barrier_with(const Group& group, CombineId combine, ByteView payload) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "begin_barrier_with"));
  if (combine == CombineId::none) {
    return Status(Code::invalid_argument, "a barrier with payloads needs a function that add_combine has taken");
  }
  return implementation_->barriers->begin(*members, {static_cast<std::uint32_t>(combine), payload});
}
Bytes Runtime::joined(const Group& group) const {
  const auto members = Implementation::sound(group, "joined");
  if (!members) return {};
  const ByteView all = implementation_->barriers->joined(**members);
  return {all.begin(), all.end()};
}
Status Runtime::release(const Group& group) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, Implementation::sound(group, "release"));
  GRAPNEL_TRY(implementation_->barriers->release(*members));
  return implementation_->collectives->release(*members);
}

Status Runtime::put_and_signal(const void* source, void* remote, std::size_t bytes, void* remote_flag,
                               std::int32_t value, Rank target) {
  return rma_->put_and_signal(source, remote, bytes, remote_flag, value, target);
}
Status Runtime::put_and_signal(const void* source, const Strided& source_shape, void* remote,
                               const Strided& remote_shape, void* remote_flag, std::int32_t value, Rank target) {
  return rma_->put_and_signal(
      {strided(OperationKind::put, source, source_shape, remote, remote_shape, target), remote_flag, value});
}
Status Runtime::notify(Rank target) { return implementation_->notifications->send(target); }
Result<std::uint32_t> Runtime::wait_notify(Rank from) { return implementation_->notifications->wait(from); }

Result<LockSet> Runtime::create_lock_set(int count, const LockOptions& options) {
  return create_lock_set(implementation_->world, count, options);
}
Result<LockSet> Runtime::create_lock_set(const Group& group, int count, const LockOptions& options) {
  return implementation_->create_lock_set(group, count, options);
}
Status Runtime::destroy_lock_set(const LockSet& set) { return implementation_->destroy_lock_set(set); }
Status Runtime::create_locks(int count, const LockOptions& options) {
  return implementation_->create_locks(count, options);
}
Status Runtime::destroy_locks() { return implementation_->destroy_locks(); }
LockSet Runtime::locks() const { return implementation_->default_locks; }
Status Runtime::lock(int lock_index, Rank home) { return implementation_->default_locks.lock(lock_index, home); }
Status Runtime::unlock(int lock_index, Rank home) { return implementation_->default_locks.unlock(lock_index, home); }

std::vector<OperationCount> Runtime::operation_counts() const { return implementation_->operation_counts(); }

}  // namespace grapnel
