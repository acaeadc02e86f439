// The shared heap of the public interface.
// SPDX-License-Identifier: Apache-2.0
#include "grapnel/shared_heap.hpp"

#include "dsm/shared_heaps.hpp"
#include "os/fault_handler.hpp"
#include "runtime/implementation.hpp"

namespace grapnel {
namespace {

Status no_heap(const char* call) {
  return Status(Code::invalid_argument, std::string(call) + ": there is no shared heap; open_shared_heap opens one");
}

}  // namespace

Result<SharedHeap> Runtime::open_shared_heap(const SharedHeapOptions& options) {
  const progress::WaitScope scope("open_shared_heap");
  GRAPNEL_ASSIGN_OR_RETURN(auto heap, implementation_->core->service<dsm::SharedHeaps>().open(options));
  return SharedHeap(std::move(heap));
}

void* SharedHeap::base() const { return heap_ ? reinterpret_cast<void*>(heap_->base()) : nullptr; }
std::size_t SharedHeap::bytes() const { return heap_ ? heap_->bytes() : 0; }
int SharedHeap::locks() const { return heap_ ? static_cast<int>(heap_->lock_count()) : 0; }

Result<void*> SharedHeap::allocate(std::size_t bytes, std::string_view name, const void* return_address) {
  if (!heap_) return no_heap("allocate");
  return heap_->allocate(bytes, name, return_address != nullptr ? return_address : __builtin_return_address(0));
}
Status SharedHeap::free(void* address) { return heap_ ? heap_->free(address) : no_heap("free"); }

Status SharedHeap::lock(int number) {
  const progress::WaitScope scope("SharedHeap::lock");
  return heap_ ? heap_->lock(number) : no_heap("lock");
}
Result<bool> SharedHeap::try_lock(int number) {
  const progress::WaitScope scope("SharedHeap::try_lock");
  if (!heap_) return no_heap("try_lock");
  return heap_->try_lock(number);
}
Status SharedHeap::unlock(int number) {
  const progress::WaitScope scope("SharedHeap::unlock");
  return heap_ ? heap_->unlock(number) : no_heap("unlock");
}
Status SharedHeap::barrier(int number) {
  const progress::WaitScope scope("SharedHeap::barrier");
  return heap_ ? heap_->barrier(number) : no_heap("barrier");
}
Status SharedHeap::wait(int condition, int lock) {
  const progress::WaitScope scope("SharedHeap::wait");
  return heap_ ? heap_->wait(condition, lock) : no_heap("wait");
}
Status SharedHeap::signal(int condition, int lock) {
  const progress::WaitScope scope("SharedHeap::signal");
  return heap_ ? heap_->wake_waiters(condition, lock, false) : no_heap("signal");
}
Status SharedHeap::broadcast(int condition, int lock) {
  const progress::WaitScope scope("SharedHeap::broadcast");
  return heap_ ? heap_->wake_waiters(condition, lock, true) : no_heap("broadcast");
}
Status SharedHeap::touch(const void* address, std::size_t bytes, bool writes) {
  return heap_ ? heap_->touch(address, bytes, writes) : no_heap("touch");
}
Status SharedHeap::place(const void* address, std::size_t bytes, Rank rank) {
  const progress::WaitScope scope("SharedHeap::place");
  return heap_ ? heap_->place(address, bytes, rank) : no_heap("place");
}
Status SharedHeap::prefetch(const void* address, std::size_t bytes) {
  const progress::WaitScope scope("SharedHeap::prefetch");
  return heap_ ? heap_->prefetch(address, bytes) : no_heap("prefetch");
}
SharedHeapCounts SharedHeap::counts() const { return heap_ ? heap_->counts() : SharedHeapCounts(); }

void SharedHeap::read(const void* address, void* value, std::size_t bytes) const { heap_->load(address, value, bytes); }
void SharedHeap::write(void* address, const void* value, std::size_t bytes) { heap_->store(address, value, bytes); }

bool exchange_fault_action(int number, const struct sigaction* next, struct sigaction* before) {
  return os::exchange_program_action(number, next, before);
}

}  // namespace grapnel
