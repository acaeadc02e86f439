// The report about locks when a rank has died: which lock, its holder, its waiters.
//
// Three know something: the ranks of a node see each other's holds (locks/lock_memory.hpp), a waiter has the place
// before it in the queue (Algorithm::describe), a home's server the queue (Algorithm::queue_behind). Each waiter
// reports of itself when it looks next. Of the locks that the dead rank held, these report at once: one process of its
// node, every server that learns of the death, and the other nodes, to which that process sends one message per lock
// (Verb::died).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/log.hpp"
#include "base/units.hpp"
#include "locks/lock_set.hpp"

namespace grapnel::locks {
namespace {

// Of a rank whose node's server has died: all its messages to the other nodes together, connecting included.
constexpr std::uint64_t kTellOthersFor_ns = 20 * base::kMillisecond_ns;

// Of more locks than this their number has to do: whoever holds hundreds would bury what else is said.
constexpr std::size_t kMostTold = 8;
constexpr std::uint32_t kMostHeard = 8 * kMostTold;

}  // namespace

// "rank 1 holds it", "ranks 1, 4 share it": those of this node; empty where there are none.
std::string Set::name_with(std::size_t ordinal, std::initializer_list<Hold> holds, const char* one,
                           const char* many) const {
  std::vector<std::size_t> found;
  const std::vector<Rank>& ranks = context_.memory.local_ranks();
  for (std::size_t local = 0; local < ranks.size(); ++local) {
    const Hold hold = context_.memory.holds(local)[ordinal].load(std::memory_order_relaxed);  // a report, no more
    if (std::find(holds.begin(), holds.end(), hold) != holds.end()) found.push_back(index(ranks[local]));
  }
  if (found.empty()) return {};
  const bool alone = found.size() == 1;
  return fmt::format("{} {} {}", alone ? "rank" : "ranks", fmt::join(found, ", "), alone ? one : many);
}

std::string Set::holders(std::size_t ordinal) const {
  return name_with(ordinal, {Hold::granted, Hold::held, Hold::shared}, "holds it", "share it");
}

std::size_t Set::add_held(std::vector<HeldLock>& held, std::size_t most) const {
  if (usable_ == 0 || mine_ == nullptr) return 0;
  std::size_t more = 0;
  for (std::size_t ordinal = 0; ordinal < context_.memory.lock_count(); ++ordinal) {
    const Hold hold = mine_[ordinal].load(std::memory_order_relaxed);  // a report, no more
    if (hold == Hold::none || hold == Hold::wanted) continue;
    const auto count = static_cast<std::size_t>(context_.count);
    if (held.size() >= most) {
      ++more;
    } else {
      held.push_back({number_, static_cast<std::int32_t>(ordinal % count),
                      static_cast<std::int32_t>(group().members[ordinal / count]), hold == Hold::shared ? 1u : 0u});
    }
  }
  return more;
}

// Whether a rank of this node holds it; false for others.
bool Set::holds(Rank rank, std::size_t ordinal) const {
  const std::vector<Rank>& ranks = context_.memory.local_ranks();
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  if (place == ranks.end()) return false;
  const Hold hold = context_.memory.holds(static_cast<std::size_t>(place - ranks.begin()))[ordinal].load();
  return hold == Hold::granted || hold == Hold::held || hold == Hold::shared;
}

Status Set::tell_death(const Acquisition& a, const Status& why) {
  if (why.code() != Code::peer_dead) return why;
  std::string known = holders(a.lock.ordinal);
  if (known.empty()) known = algorithm_->describe(a);
  Status told(Code::peer_dead,
              fmt::format("{}; rank {} waited for lock {} of rank {} ({}): {}", why.message(), index(context_.me),
                          a.lock.index, index(a.lock.home), to_string(context_.options.kind), known));
  base::log_error("{}", told.message());
  return told;
}

void Set::tell_what_is_held_by(Rank dead, bool as_server) {
  if (usable_ == 0 || context_.memory.reported().exchange(1) != 0) return;
  const auto count = static_cast<std::size_t>(context_.count);
  const std::uint64_t until_ns = context_.waiting.host().now_ns() + kTellOthersFor_ns;
  std::size_t told = 0, untold = 0;
  for (std::size_t ordinal = 0; ordinal < context_.memory.lock_count(); ++ordinal) {
    const bool held = holds(dead, ordinal);
    if (told == kMostTold) {
      untold += held;
      continue;
    }
    const std::size_t place = ordinal / count;
    const LockId lock = lock_at(static_cast<int>(ordinal % count), group().members[place], place);
    told += tell_of(lock, dead, held, as_server);
    if (held) let_other_nodes_tell(lock, dead, as_server, until_ns);
  }
  if (untold > 0) base::log_error("rank {} died; it held {} more locks of the set", index(dead), untold);
}

// Of a lock that the dead rank held, all that this node knows; of others, what a server knows of its homes' queues.
// True: there was something to tell.
bool Set::tell_of(const LockId& lock, Rank dead, bool held, bool as_server) {
  std::vector<std::string> known;
  if (held) {
    known.push_back(holders(lock.ordinal));
    known.push_back(name_with(lock.ordinal, {Hold::wanted}, "waits for it", "wait for it"));
  }
  if (as_server && context_.at_home(lock)) known.push_back(algorithm_->queue_behind(lock, dead));
  known.erase(std::remove(known.begin(), known.end(), ""), known.end());
  if (known.empty()) return false;
  base::log_error("rank {} died; lock {} of rank {} ({}): {}", index(dead), lock.index, index(lock.home),
                  to_string(context_.options.kind), fmt::join(known, "; "));
  return true;
}

// The job ends for them before they hear of the death otherwise. One that cannot be told is one line less.
void Set::let_other_nodes_tell(const LockId& lock, Rank dead, bool as_server, std::uint64_t until_ns) {
  const LockBody body = context_.body(Verb::died, lock, index(dead));
  std::set<NodeId> nodes;
  for (const Rank member : group().members) nodes.insert(context_.node_of(member));
  for (const NodeId to : nodes) {
    if (to == context_.my_node) continue;
    if (as_server) {
      static_cast<void>(context_.deliver(Voice::server, to, lock, body, {}));
    } else {
      context_.tell_at_the_end(to, body, until_ns);
    }
  }
}

// The server's thread; sends it to no other process.
bool Set::hear_of_death(const LockId& lock, const LockBody& body, const Sender& from) {
  if (body.me >= static_cast<std::uint64_t>(context_.launch.size())) return false;
  const Rank dead{static_cast<int>(body.me)};
  if (context_.node_of(dead) == context_.my_node || context_.node_of(dead) != from.node) return false;
  if (++deaths_heard_ > kMostHeard) return false;
  tell_of(lock, dead, true, true);
  return true;
}

}  // namespace grapnel::locks
