#include "locks/locks.hpp"

#include <fmt/format.h>

#include <mutex>

#include "locks/lock_set.hpp"
#include "locks/messages.hpp"

namespace grapnel::locks {
namespace {

LockKind configured(base::LockKind kind) {
  switch (kind) {
    case base::LockKind::server_queue: return LockKind::server_queue;
    case base::LockKind::ticket: return LockKind::ticket;
    case base::LockKind::armci_hybrid: return LockKind::armci_hybrid;
    case base::LockKind::test_and_set: return LockKind::test_and_set;
    case base::LockKind::mcs: return LockKind::mcs;
    case base::LockKind::mcs_by_cas: return LockKind::mcs_by_cas;
    case base::LockKind::reader_writer: return LockKind::reader_writer;
    case base::LockKind::cohort: break;
  }
  return LockKind::cohort;
}

}  // namespace

void add(LockCounts& sum, const LockCounts& one) {
  sum.acquisitions += one.acquisitions;
  sum.local_hand_offs += one.local_hand_offs;
  sum.remote_hand_offs += one.remote_hand_offs;
  sum.gave_up += one.gave_up;
  sum.messages += one.messages;
  sum.server_messages += one.server_messages;
  for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) sum.waits[k] += one.waits[k];
}

Locks::Locks(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting, progress::Client* client,
             progress::Server* server)
    : config_(config),
      launch_(launch),
      waiting_(waiting),
      client_(client),
      server_(server),
      told_(launch.node_memory().carve<os::Word>(1).front()),
      closed_(kLockKinds) {}

Locks::~Locks() = default;

void Locks::add_handlers(progress::Server& server) {
  constexpr std::size_t kMost = sizeof(LockBody) + kMostLockPayload;
  server.handlers().add(kLockAskHandler, {"a lock's request", sizeof(LockBody), kMost, true,
                                          [this](progress::Request& request) { return on_ask(request); }});
  server.handlers().add(kLockTellHandler, {"a lock's message", sizeof(LockBody), kMost, false,
                                           [this](progress::Request& request) { return on_tell(request); }, true});
  server.add_watcher([this] { return look_for_death(); });
}

Result<std::shared_ptr<Set>> Locks::prepare(int count, LockOptions options) {
  const std::uint32_t number = next_number_++;  // also where it refuses, or the next sets' would differ
  if (count < 1) return Status(Code::invalid_argument, fmt::format("{} locks cannot be created", count));
  if (options.payload_bytes > kMostLockPayload) {
    return Status(Code::invalid_argument, fmt::format("a lock carries {} bytes of payload at most, not {}",
                                                      kMostLockPayload, options.payload_bytes));
  }
  if (static_cast<std::size_t>(options.kind) >= kLockKinds) {
    return Status(Code::invalid_argument, fmt::format("{} is no kind of lock", static_cast<int>(options.kind)));
  }
  if (options.kind == LockKind::standard) options.kind = configured(config_.lock);
  if (options.backoff_ns == 0) options.backoff_ns = config_.lock_backoff_ns;
  if (options.backoff_most_ns == 0) options.backoff_most_ns = config_.lock_backoff_most_ns;
  options.backoff_most_ns = std::max(options.backoff_most_ns, options.backoff_ns);
  return std::make_shared<Set>(launch_, waiting_, client_, server_, number, count, options);
}

void Locks::open(std::shared_ptr<Set> set) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = set->number();
  sets_.emplace(number, std::move(set));
}

void Locks::close(Set& set) {
  const std::lock_guard lock(mutex_);
  add(closed_[static_cast<std::size_t>(set.options().kind)], set.counts());
  set.close();
  sets_.erase(set.number());
}

bool Locks::look_for_death() {
  if (const auto dead = launch_.dead(); dead.has_value()) [[unlikely]]
    tell_locks_of(*dead, true);
  return false;
}

void Locks::after_death(Rank dead) {
  if (server_ != nullptr) {
    server_->ring();  // its own thread knows most, and looks
  } else {
    tell_locks_of(dead, false);
  }
}

void Locks::tell_locks_of(Rank dead, bool as_server) {
  if (told_.exchange(1) != 0) return;
  const std::shared_lock lock(mutex_);
  for (const auto& [number, set] : sets_) set->tell_what_is_held_by(dead, as_server);
}

std::vector<HeldLock> Locks::held(std::size_t most, std::size_t& more) const {
  const std::shared_lock lock(mutex_);
  std::vector<HeldLock> held;
  more = 0;
  for (const auto& [number, set] : sets_) more += set->add_held(held, most);
  return held;
}

std::vector<LockCounts> Locks::counts() const {
  const std::shared_lock lock(mutex_);
  std::vector<LockCounts> all = closed_;
  for (const auto& [number, set] : sets_) add(all[static_cast<std::size_t>(set->options().kind)], set->counts());
  return all;
}

std::shared_ptr<Set> Locks::find(std::uint32_t number) const {
  const auto found = sets_.find(number);
  return found == sets_.end() ? nullptr : found->second;
}

// The lock on the sets is held while the message is handled: `close` returns when no handler is in the set's memory.

progress::Outcome Locks::on_ask(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  const std::shared_lock lock(mutex_);
  const auto set = find(body.set);
  if (set == nullptr) return progress::Outcome::refused;
  return set->answer(body, request.body.subspan(sizeof body), request);
}

progress::Outcome Locks::on_tell(progress::Request& request) {
  const auto body = request.body_as<LockBody>();
  const std::shared_lock lock(mutex_);
  const auto set = find(body.set);
  if (set == nullptr) return progress::Outcome::done;  // said before the set was destroyed, and of no use any more
  const int server = static_cast<int>(request.origin) - launch_.size();
  const auto from = server >= 0
                        ? Speaker{Voice::server, NodeId{server}}
                        : Speaker{Voice::server, launch_.nodes().node_of[index(request.origin)], request.origin};
  const bool sound = set->hear(body, request.body.subspan(sizeof body), from);
  return sound ? progress::Outcome::done : progress::Outcome::refused;
}

}  // namespace grapnel::locks
