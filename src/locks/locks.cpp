// SPDX-License-Identifier: Apache-2.0
#include "locks/locks.hpp"

#include <fmt/format.h>

#include "core/core.hpp"
#include "locks/lock_set.hpp"
#include "locks/messages.hpp"

namespace grapnel::locks {

void add(LockCounts& sum, const LockCounts& one) {
  sum.acquisitions += one.acquisitions;
  sum.local_hand_offs += one.local_hand_offs;
  sum.remote_hand_offs += one.remote_hand_offs;
  sum.gave_up += one.gave_up;
  sum.messages += one.messages;
  sum.server_messages += one.server_messages;
  sum.adapter_operations += one.adapter_operations;
  for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) sum.waits[k] += one.waits[k];
}

Locks::Locks(core::Core& core)
    : settings_(core.config.get<Settings>()),
      launch_(core.launch),
      exchange_(core.exchange),
      segments_(core.segments),
      environment_{core.launch, core.waiting, core.client, core.server, std::make_shared<core::NetworkWords>(core)},
      closed_(kLockKinds) {
  if (core.server != nullptr) add_handlers(*core.server);
}

Locks::~Locks() = default;

void Locks::add_handlers(progress::Server& server) {
  constexpr std::size_t kMost = sizeof(LockBody) + kMostLockBytes;
  server.handlers().add(kLockAskHandler, {"a lock's request", sizeof(LockBody), kMost, true,
                                          [this](progress::Request& request) { return on_ask(request); }});
  server.handlers().add(kLockTellHandler, {"a lock's message", sizeof(LockBody), kMost, false,
                                           [this](progress::Request& request) { return on_tell(request); }, true});
  server.handlers().add(kLockSetHandler, {"a set of locks", sizeof(LockSetBody), sizeof(LockSetBody), true,
                                          [this](progress::Request& request) { return on_set(request); }});
  server.add_watcher([this] { return look_for_death(); });
}

bool Locks::look_for_death() {
  if (const auto dead = launch_.dead(); dead.has_value()) [[unlikely]]
    tell_locks_of(*dead, true);
  return false;
}

void Locks::after_death(Rank dead) {
  if (environment_.server != nullptr) {
    environment_.server->ring();  // its own thread knows most, and looks
  } else {
    tell_locks_of(dead, false);
  }
}

void Locks::tell_locks_of(Rank dead, bool as_server) {
  const base::SharedLock lock(mutex_);
  for (const auto& [number, set] : sets_) set->tell_what_is_held_by(dead, as_server);
}

std::vector<HeldLock> Locks::held(std::size_t most, std::size_t& more) const {
  const base::SharedLock lock(mutex_);
  std::vector<HeldLock> held;
  more = 0;
  for (const auto& [number, set] : sets_) more += set->add_held(held, most);
  return held;
}

std::vector<LockCounts> Locks::counts() const {
  const base::SharedLock lock(mutex_);
  std::vector<LockCounts> all = closed_;
  for (const auto& [number, set] : sets_) add(all[static_cast<std::size_t>(set->options().kind)], set->counts());
  return all;
}

std::shared_ptr<Set> Locks::find(std::uint64_t number) const {
  const auto found = sets_.find(number);
  return found == sets_.end() ? nullptr : found->second;
}

// The lock on the sets is held while the message is handled: `close` returns when no handler is in the set's memory.

progress::Outcome Locks::on_ask(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  const base::SharedLock lock(mutex_);
  const auto set = find(body.set);
  if (set == nullptr) return progress::Outcome::refused;
  return set->answer(body, request.body.subspan(sizeof body), request);
}

progress::Outcome Locks::on_tell(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  const base::SharedLock lock(mutex_);
  const auto set = find(body.set);
  if (set == nullptr) return progress::Outcome::done;  // sent before the set was destroyed, and of no use any more
  const int server = static_cast<int>(request.origin) - launch_.size();
  const auto from = server >= 0 ? Sender{Voice::server, NodeId{server}}
                                : Sender{Voice::server, launch_.nodes().node_of[index(request.origin)], request.origin};
  const bool sound = set->hear(body, request.body.subspan(sizeof body), from);
  return sound ? progress::Outcome::done : progress::Outcome::refused;
}

}  // namespace grapnel::locks
