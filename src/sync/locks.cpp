#include "sync/locks.hpp"

#include <fmt/format.h>

#include <memory>

#include "base/codec.hpp"

namespace grapnel::sync {

Locks::Locks(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client)
    : launch_(launch), waiting_(waiting), client_(client) {}

void Locks::add_handlers(progress::Server& server) {
  server_ = &server;
  server.handlers().add(kLockHandler, {"lock", sizeof(LockBody), sizeof(LockBody), true,
                                       [this](progress::Request& request) { return on_lock(request); }});
  server.handlers().add(kUnlockHandler, {"unlock", sizeof(LockBody), sizeof(LockBody), false,
                                         [this](progress::Request& request) { return on_unlock(request); }});
}

Status Locks::open(int count, std::vector<TicketWord*> words_of_rank) {
  if (count_ != 0) return Status(Code::invalid_argument, fmt::format("{} locks exist already", count_));
  count_ = count;
  words_ = std::move(words_of_rank);
  return {};
}

Status Locks::close() {
  if (count_ == 0) return Status(Code::invalid_argument, "there are no locks to destroy");
  count_ = 0;
  words_.clear();
  return {};
}

bool Locks::any_held() {
  const std::lock_guard guard(mutex_);
  return !held_.empty();
}

Status Locks::check(int lock_index, Rank home) const {
  if (lock_index < 0 || lock_index >= count_) {
    return Status(Code::invalid_argument, fmt::format("lock {} does not exist (there are {})", lock_index, count_));
  }
  if (static_cast<std::size_t>(home) >= static_cast<std::size_t>(launch_.size())) {
    return Status(Code::invalid_argument, fmt::format("lock: rank {} is outside the job", static_cast<int>(home)));
  }
  return {};
}

Status Locks::acquire(int lock_index, Rank home) {
  GRAPNEL_TRY(check(lock_index, home));
  const Name name(static_cast<int>(home), lock_index);
  {
    const std::lock_guard guard(mutex_);
    if (!held_.emplace(name, false).second) {
      return Status(Code::invalid_argument,
                    fmt::format("lock {} of rank {} is held by the caller already", lock_index, name.first));
    }
  }
  Status taken = client_ == nullptr ? take_ticket(words_[index(home)][lock_index])
                                    : ask_server({name.first, lock_index}, launch_.nodes().node_of[index(home)]);
  const std::lock_guard guard(mutex_);
  if (taken.ok()) {
    held_[name] = true;
  } else {
    held_.erase(name);
  }
  return taken;
}

Status Locks::release(int lock_index, Rank home) {
  GRAPNEL_TRY(check(lock_index, home));
  const Name name(static_cast<int>(home), lock_index);
  {
    const std::lock_guard guard(mutex_);
    const auto found = held_.find(name);
    if (found == held_.end() || !found->second) {
      return Status(Code::invalid_argument,
                    fmt::format("lock {} of rank {} is not held by the caller", lock_index, name.first));
    }
    held_.erase(found);
  }
  if (client_ != nullptr) return tell_server({name.first, lock_index}, launch_.nodes().node_of[index(home)]);
  TicketWord& word = words_[index(home)][lock_index];
  // Only the holder writes `serving`. release: the next holder sees what this one wrote.
  const std::uint32_t next = word.serving.load(std::memory_order_relaxed) + 1;
  word.serving.store(next, std::memory_order_seq_cst);
  // seq_cst on both sides: either a waiter that took a ticket before is seen here, or it sees the new value.
  if (word.next.load(std::memory_order_seq_cst) != next) waiting_.host().wake(word.serving);
  return {};
}

Status Locks::take_ticket(TicketWord& word) {
  const std::uint32_t ticket = word.next.fetch_add(1, std::memory_order_seq_cst);
  return waiting_.on_word(word.serving, [&](std::uint32_t& serving) { return serving == ticket; });
}

Status Locks::ask_server(const LockBody& body, NodeId node) {
  auto granted = std::make_unique<bool>(false);
  progress::Order order;
  order.handler = kLockHandler;
  order.body = base::bytes_of(body);
  order.on_reply = {[](void* context, const progress::Reply&) { *static_cast<bool*>(context) = true; }, granted.get()};
  progress::Client::Guard guard(*client_);
  Status waited = client_->send(node, order).status();
  if (waited.ok()) waited = client_->wait_until([&] { return *granted; });
  if (!waited.ok()) static_cast<void>(granted.release());  // a late grant must find it
  return waited;
}

Status Locks::tell_server(const LockBody& body, NodeId node) {
  progress::Order order;
  order.handler = kUnlockHandler;
  order.body = base::bytes_of(body);
  progress::Client::Guard guard(*client_);
  if (const auto sent = client_->send(node, order); !sent) return sent.status();
  return client_->drain(node);
}

progress::Outcome Locks::on_lock(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  Queue& queue = queues_[{body.home, body.index}];
  if (queue.held) {
    queue.waiters.push_back({request.origin, request.token});
  } else {
    queue.held = true;
    queue.holder = request.origin;
    request.answer({}, {});
  }
  return progress::Outcome::done;
}

progress::Outcome Locks::on_unlock(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  const auto found = queues_.find({body.home, body.index});
  if (found == queues_.end() || !found->second.held || found->second.holder != request.origin) {
    return progress::Outcome::refused;
  }
  Queue& queue = found->second;
  if (queue.waiters.empty()) {
    queues_.erase(found);
    return progress::Outcome::done;
  }
  const Waiter next = queue.waiters.front();
  queue.waiters.pop_front();
  queue.holder = next.rank;
  server_->answer_later(next.rank, next.token, {});
  return progress::Outcome::done;
}

}  // namespace grapnel::sync
