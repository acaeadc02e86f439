// SPDX-License-Identifier: Apache-2.0
#include "grapnel/lock_set.hpp"

#include "locks/lock_set.hpp"

namespace grapnel {
namespace {

using locks::Acquisition;
using locks::Ask;

Status no_set() { return {Code::invalid_argument, "there are no locks; create them first"}; }

Result<Bytes> with_payload(locks::Set* set, int index, Rank home, const Ask& ask) {
  if (set == nullptr) return no_set();
  Bytes received;
  if (Status taken = set->acquire(index, home, ask, &received); !taken.ok()) return taken;
  return received;
}

}  // namespace

LockKind LockSet::kind() const { return set_ ? set_->options().kind : LockKind::standard; }
LockCounts LockSet::counts() const { return set_ ? set_->counts() : LockCounts(); }

Status LockSet::lock(int index, Rank home) { return set_ ? set_->acquire(index, home) : no_set(); }
Result<bool> LockSet::try_lock(int index, Rank home) {
  if (!set_) return no_set();
  return set_->attempt(index, home, {}, nullptr);
}
Status LockSet::lock_for(int index, Rank home, std::uint64_t timeout_ns) {
  return set_ ? set_->acquire(index, home, {.shared = false, .timeout_ns = timeout_ns, .payload = {}}, nullptr)
              : no_set();
}
Status LockSet::unlock(int index, Rank home) { return set_ ? set_->release(index, home) : no_set(); }

Status LockSet::lock_shared(int index, Rank home) {
  return set_ ? set_->acquire(index, home, {.shared = true}, nullptr) : no_set();
}
Result<bool> LockSet::try_lock_shared(int index, Rank home) {
  if (!set_) return no_set();
  return set_->attempt(index, home, {.shared = true}, nullptr);
}
Status LockSet::lock_shared_for(int index, Rank home, std::uint64_t timeout_ns) {
  return set_ ? set_->acquire(index, home, {.shared = true, .timeout_ns = timeout_ns}, nullptr) : no_set();
}
Status LockSet::unlock_shared(int index, Rank home) { return set_ ? set_->release(index, home, true, {}) : no_set(); }

Result<LockRequest> LockSet::start_lock(int index, Rank home, ByteView payload) {
  if (!set_) return no_set();
  GRAPNEL_ASSIGN_OR_RETURN(auto started, set_->start(index, home, {.payload = payload}));
  LockRequest request;
  request.state_ = std::move(started);
  return request;
}
Result<LockRequest> LockSet::start_lock_shared(int index, Rank home, ByteView payload) {
  if (!set_) return no_set();
  GRAPNEL_ASSIGN_OR_RETURN(auto started, set_->start(index, home, {.shared = true, .payload = payload}));
  LockRequest request;
  request.state_ = std::move(started);
  return request;
}

Status LockSet::wait(LockRequest& request, Bytes* received) {
  if (!set_ || !request.state_) return {Code::invalid_argument, "a request for a lock that was not started"};
  Status waited = set_->finish(*static_cast<Acquisition*>(request.state_.get()), received);
  if (waited.ok()) request.state_.reset();
  return waited;
}
Result<bool> LockSet::test(LockRequest& request, Bytes* received) {
  if (!set_ || !request.state_) {
    return Status(Code::invalid_argument, "a request for a lock that was not started");
  }
  auto tested = set_->test(*static_cast<Acquisition*>(request.state_.get()), received);
  if (tested && *tested) request.state_.reset();
  return tested;
}

Result<Bytes> LockSet::lock_with(int index, Rank home, ByteView payload) {
  return with_payload(set_.get(), index, home, {.payload = payload});
}
Result<Bytes> LockSet::lock_shared_with(int index, Rank home, ByteView payload) {
  return with_payload(set_.get(), index, home, {.shared = true, .payload = payload});
}
Result<Bytes> LockSet::successor_payload(int index, Rank home) {
  if (!set_) return no_set();
  return set_->successor_payload(index, home);
}
Status LockSet::unlock_with(int index, Rank home, ByteView payload) {
  return set_ ? set_->release(index, home, false, payload) : no_set();
}

}  // namespace grapnel
