// The public handles of sets of locks.
// SPDX-License-Identifier: Apache-2.0
#include "locks/lock_set.hpp"
#include "runtime/implementation.hpp"

namespace grapnel {

Result<LockSet> Runtime::Implementation::create_lock_set(const Group& group, int count, const LockOptions& options) {
  const progress::WaitScope scope("create_lock_set");
  GRAPNEL_TRY(sound(group, "create_lock_set").status());
  auto created = locks->create(group.known(), count, options);
  return created ? Result<LockSet>(LockSet(*std::move(created))) : created.status();
}

Status Runtime::Implementation::destroy_lock_set(const LockSet& handle) {
  const progress::WaitScope scope("destroy_lock_set");
  const std::shared_ptr<locks::Set>& set = handle.set();
  return set ? locks->destroy(*set) : Status(Code::invalid_argument, "there are no locks to destroy");
}

Status Runtime::Implementation::create_locks(int count, const LockOptions& options) {
  if (default_locks.set()) {
    return Status(Code::invalid_argument, "locks exist already; destroy them first, or create a lock set of its own");
  }
  auto created = create_lock_set(world, count, options);
  if (created) default_locks = *created;
  return created.status();
}

Status Runtime::Implementation::destroy_locks() {
  GRAPNEL_TRY(destroy_lock_set(default_locks));
  default_locks = {};
  return {};
}

}  // namespace grapnel
