// SPDX-License-Identifier: Apache-2.0
#include "core/network_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "core/core.hpp"

namespace grapnel::core {
namespace {

// In a job of one node. Sequentially consistent, as rma's atomics are.
std::uint64_t execute_here(const transport::Atomic& what, void* address) {
  const std::atomic_ref<std::uint64_t> word(*static_cast<std::uint64_t*>(address));
  switch (what.kind) {
    case transport::Atomic::Kind::fetch_add: return word.fetch_add(what.operand);
    case transport::Atomic::Kind::swap: return word.exchange(what.operand);
    case transport::Atomic::Kind::compare_swap: break;
  }
  std::uint64_t found = what.expected;
  word.compare_exchange_strong(found, what.operand);
  return found;
}

}  // namespace

NetworkWords::NetworkWords(const Core& core)
    : launch_(core.launch),
      segments_(core.segments),
      client_(core.client),
      has_swap_(core.transport == nullptr || core.transport->capabilities().native_atomics.swap),
      opened_(core.launch.nodes().node_count()) {}

// ---- calls

NetworkWords::Call* NetworkWords::take_call() {
  const base::MutexLock lock(calls_mutex_);
  if (free_.empty()) free_.push_back(&calls_.emplace_back());
  Call* const call = free_.back();
  free_.pop_back();
  call->owner = this;
  call->arrived.store(false, std::memory_order_relaxed);  // published by the transport's call
  call->abandoned = false;
  call->outcome = {};
  return call;
}

void NetworkWords::give_back(Call* call) {
  const base::MutexLock lock(calls_mutex_);
  GRAPNEL_ASSERT(call->owner == this && !call->abandoned, "a call is given back twice, or to other words");
  call->arrived.store(true, std::memory_order_relaxed);
  free_.push_back(call);
}

void NetworkWords::abandon(Call* call) {
  const base::MutexLock lock(calls_mutex_);
  GRAPNEL_ASSERT(call->owner == this && !call->abandoned, "a call is abandoned twice, or by other words");
  if (call->arrived.load(std::memory_order_acquire)) {
    free_.push_back(call);
  } else {
    call->abandoned = true;
  }
}

void NetworkWords::ended(void* context, const Status& outcome) {
  Call* const call = static_cast<Call*>(context);
  NetworkWords& self = *call->owner;
  const base::MutexLock lock(self.calls_mutex_);
  call->outcome = outcome;
  call->arrived.store(true, std::memory_order_release);
  if (call->abandoned) self.free_.push_back(call);
}

template <typename Start>
Result<NetworkWords::Call*> NetworkWords::begin(Call* call, Start start) {
  const auto sent = start(transport::Completion{ended, call});
  if (!sent) {
    give_back(call);
    return sent.status();
  }
  if (*sent == transport::Sent::done) call->arrived.store(true, std::memory_order_release);
  return call;
}

// ---- ways

Status NetworkWords::open(const launch::Group& group) {
  if (client_ == nullptr) return {};
  for (const Rank member : group.members) GRAPNEL_TRY(open_node(launch_.nodes().node_of[index(member)]));
  return {};
}

Status NetworkWords::open_node(NodeId node) {
  const progress::Client::Guard guard(*client_);
  if (opened_[index(node)] != 0) return {};
  GRAPNEL_ASSIGN_OR_RETURN(const auto endpoint, client_->endpoint(node));
  GRAPNEL_ASSIGN_OR_RETURN(Call* const call, begin(take_call(), [&](const transport::Completion& completion) {
                             return client_->worker().open_atomics(endpoint, completion);
                           }));
  GRAPNEL_TRY(finish(call).status());
  opened_[index(node)] = 1;
  return {};
}

Status NetworkWords::settle() {
  if (client_ == nullptr) return {};
  const progress::Client::Guard guard(*client_);
  return client_->wait_until([this] {
    const base::MutexLock lock(calls_mutex_);
    return std::all_of(calls_.begin(), calls_.end(), [](const Call& call) { return call.arrived.load(); });
  });
}

void NetworkWords::forget_keys() {
  if (client_ == nullptr) return;
  const progress::Client::Guard guard(*client_);
  keys_.clear();
}

Result<NetworkWords::Place> NetworkWords::place_of(const void* word, Rank target) {
  const NodeId node = launch_.nodes().node_of[index(target)];
  const auto* region = segments_.find_remote(node, reinterpret_cast<std::uintptr_t>(word), sizeof(std::uint64_t));
  if (region == nullptr || region->domain != AtomicDomain::network) {
    return Status(Code::invalid_argument,
                  fmt::format("atomic: {} of rank {} is no word of the network domain that this rank knows; only "
                              "members of the group that allocated it reach it",
                              word, index(target)));
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto endpoint, client_->endpoint(node));
  auto& key = keys_[region->id];
  if (!key) {
    GRAPNEL_ASSIGN_OR_RETURN(auto imported, client_->worker().import_key(endpoint, region->key));
    key = std::move(imported);
  }
  return Place{node, endpoint, key.get()};
}

// ---- operations

Result<NetworkWords::Call*> NetworkWords::start(const Atomic& what, void* word, Rank target) {
  if (client_ == nullptr) {
    Call* const call = take_call();
    call->value = execute_here(what, word);
    call->arrived.store(true, std::memory_order_release);
    return call;
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto place, place_of(word, target));
  Call* const call = take_call();
  return begin(call, [&](const transport::Completion& completion) {
    return client_->worker().atomic(place.endpoint, what, &call->value, reinterpret_cast<std::uintptr_t>(word),
                                    *place.key, completion);
  });
}

Result<std::uint64_t> NetworkWords::finish(Call* call, std::uint64_t until_ns) {
  const auto arrived = [call] { return call->arrived.load(std::memory_order_acquire); };
  if (!arrived()) {
    if (const Status waited = client_->wait_until(arrived, until_ns); !waited.ok()) {
      if (waited.code() != Code::timed_out) abandon(call);
      return waited;
    }
  }
  const Status outcome = std::move(call->outcome);
  const std::uint64_t value = call->value;
  give_back(call);
  if (!outcome.ok()) return outcome;
  return value;
}

Result<std::uint64_t> NetworkWords::run(const Atomic& what, void* word, Rank target) {
  if (what.kind == Atomic::Kind::swap && !has_swap_) return swap_by_compare(what, word, target);
  GRAPNEL_ASSIGN_OR_RETURN(Call* const call, start(what, word, target));
  return finish(call);
}

// Each failed comparison shows that another rank has changed the word in between.
Result<std::uint64_t> NetworkWords::swap_by_compare(const Atomic& what, void* word, Rank target) {
  for (std::uint64_t expected = 0;;) {
    const Atomic compare{Atomic::Kind::compare_swap, what.operand, expected};
    GRAPNEL_ASSIGN_OR_RETURN(const auto found, run(compare, word, target));
    if (found == expected) return found;
    expected = found;
  }
}

Status NetworkWords::put(std::uint64_t value, void* word, Rank target) {
  if (client_ == nullptr) {
    // seq_cst: pairs with the waiter's look at its own word, as an adapter's write would.
    std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(word)).store(value);
    return {};
  }
  GRAPNEL_ASSIGN_OR_RETURN(const auto place, place_of(word, target));
  Call* call = take_call();
  call->value = value;
  GRAPNEL_ASSIGN_OR_RETURN(call, begin(call, [&](const transport::Completion& completion) {
                             return client_->worker().put(place.endpoint, base::bytes_of(call->value),
                                                          reinterpret_cast<std::uintptr_t>(word), *place.key,
                                                          completion);
                           }));
  const Status drained = client_->drain(place.node);
  GRAPNEL_TRY(finish(call).status());
  return drained;
}

}  // namespace grapnel::core
