// reader_writer between nodes: what a node's server receives from a home, and a home from the nodes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "locks/kinds/reader_writer.hpp"

namespace grapnel::locks {

bool ReaderWriter::hear(const LockId& lock, const LockBody& body, ByteView payload, const Sender& from) {
  if (body.me >= context_.launch.nodes().node_count()) return false;
  const auto node = static_cast<std::uint32_t>(body.me);
  const bool to_home = body.verb == Verb::want_shared || body.verb == Verb::want_sole || body.verb == Verb::give_back;
  const bool sound = to_home ? context_.at_home(lock) && index(from.node) == node
                             : node == my_node() && from.node == context_.node_of(lock.home);
  if (!sound) return false;
  if (!to_home && find(lock) == nullptr) {
    if (body.verb != Verb::grant && body.verb != Verb::grant_shared) return false;
    context_.abort_job(lock, from, "grants it to this node, which has not asked for it");
  }
  // relaxed: for the statistics only.
  if (!to_home && body.verb != Verb::recall) {
    find(lock)->from.store(static_cast<std::uint32_t>(body.value), std::memory_order_relaxed);
  }
  switch (body.verb) {
    case Verb::grant: return on_sole(lock, payload, from);
    case Verb::grant_shared: return on_shared(lock, body.flag != 0, payload, from);
    case Verb::recall: return on_recall(lock, from.voice);
    case Verb::want_shared:
      if (body.flag >= kWishes) return false;
      want_shared(lock, node, static_cast<Wish>(body.flag), from);
      return true;
    case Verb::want_sole:
      if (body.flag != 0) take_back(lock, node, from);
      want_sole(lock, node, from);
      return true;
    case Verb::give_back: give_back(lock, node, body.flag != 0, payload, from); return true;
    default: return false;
  }
}

// ---- the node

bool ReaderWriter::on_sole(const LockId& lock, ByteView payload, const Sender& from) {
  Words& words = *find(lock);
  if (!view(words).asked_sole) context_.abort_job(lock, from, "grants it to this node, which has not asked for it");
  context_.memory.keep(&words, 0, payload);
  const Changed changed = update(words, [](View& v) {
    v.asked_sole = false;
    if (v.writer_waits) {
      v.writer_waits = false;
      v.writer = true;
      v.grant = View::kSole;
    } else {
      v.asked_shared |= v.waiting != 0;
    }
    return true;
  });
  if (changed.after.writer) {
    ring(words);
    return true;
  }
  // The ranks that wanted it gave up.
  return tell_home(from.voice, lock, Verb::give_back, asks_now(changed), payload).ok();
}

bool ReaderWriter::on_shared(const LockId& lock, bool recalled, ByteView payload, const Sender& from) {
  Words& words = *find(lock);
  if (!view(words).asked_shared) context_.abort_job(lock, from, "shares it with this node, which has not asked for it");
  context_.memory.keep(&words, 0, payload);
  const Changed changed = update(words, [&](View& v) {
    v.asked_shared = v.asked_join = false;
    if (v.waiting != 0) v.admit_waiting();
    const bool stays = !recalled || v.readers != 0;
    v.grant = stays ? View::kShared : View::kNothing;
    v.recalled = recalled && stays;
    return true;
  });
  if (changed.after.phase != changed.before.phase) ring(words);
  if (changed.after.grant == View::kShared) return true;
  return tell_home(from.voice, lock, Verb::give_back, false).ok();
}

bool ReaderWriter::on_recall(const LockId& lock, Voice voice) {
  const Changed changed = update(*find(lock), [](View& v) {
    if (v.grant != View::kShared) return false;  // it crossed the node's own giving back
    v.recalled = v.readers != 0;
    if (v.recalled) return true;
    v.grant = View::kNothing;
    v.asked_shared |= v.waiting != 0;
    return true;
  });
  if (!changed.done || changed.after.grant == View::kShared) return true;
  return tell_home(voice, lock, Verb::give_back, asks_now(changed)).ok();
}

// ---- the home

void ReaderWriter::send(const LockId& lock, Verb verb, std::uint32_t node, bool flag, ByteView payload,
                        std::uint32_t from) {
  LockBody body = context_.body(verb, lock, node);
  body.flag = flag ? 1 : 0;
  body.value = from;
  static_cast<void>(context_.deliver(Voice::server, NodeId(static_cast<int>(node)), lock, body, payload));
}

void ReaderWriter::take_back(const LockId& lock, std::uint32_t node, const Sender& from) {
  Home& home = homes_[lock.ordinal];
  const auto found = home.sharing.find(node);
  if (found == home.sharing.end()) context_.abort_job(lock, from, "gives a grant of its node back that it has not got");
  if (--found->second == 0) home.sharing.erase(found);
  home.last = node;
}

// A node asks once, until it is granted; else there would be grants that no node gives back, and a queue without an
// end.
template <typename Nodes>
void ReaderWriter::queue(const LockId& lock, Nodes& nodes, std::uint32_t node, const Sender& from) {
  if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) {
    context_.abort_job(lock, from, "asks for its node a second time before it was granted");
  }
  nodes.push_back(node);
}

// Readers come in now: no writer waits, or they join those that are inside.
bool ReaderWriter::takes_in(const Home& home, bool joins) {
  return !home.sole && (home.writers.empty() || (joins && !home.sharing.empty()));
}

// Where a writer waits, the home has called back all that share; this grant carries the recall as a flag.
void ReaderWriter::share(const LockId& lock, std::uint32_t node) {
  Home& home = homes_[lock.ordinal];
  ++home.sharing[node];
  const bool recalled = !home.writers.empty();
  const Bytes payload = home.payload;
  send(lock, Verb::grant_shared, node, recalled, payload, 0);
}

void ReaderWriter::want_shared(const LockId& lock, std::uint32_t node, Wish wish, const Sender& from) {
  if (wish == kRequestJoins) return request_joins(lock, node);
  Home& home = homes_[lock.ordinal];
  const bool joins = home.joining.erase(node) != 0 || wish == kJoins;
  queue(lock, home.readers, node, from);
  if (!takes_in(home, joins)) return;
  home.readers.pop_back();
  share(lock, node);
}

void ReaderWriter::request_joins(const LockId& lock, std::uint32_t node) {
  Home& home = homes_[lock.ordinal];
  const auto found = std::find(home.readers.begin(), home.readers.end(), node);
  if (found == home.readers.end()) {
    home.joining.insert(node);
  } else if (takes_in(home, true)) {
    home.readers.erase(found);
    share(lock, node);
  }
}

void ReaderWriter::want_sole(const LockId& lock, std::uint32_t node, const Sender& from) {
  Home& home = homes_[lock.ordinal];
  queue(lock, home.writers, node, from);
  if (!home.sole && !home.recalled && !home.sharing.empty()) {
    home.recalled = true;
    // A copy: a node that gives back at once, this one, changes the set.
    const std::map<std::uint32_t, int> sharing = home.sharing;
    for (const auto& [one, grants] : sharing) send(lock, Verb::recall, one, false, {}, 0);
  }
  grant_next(lock, home, false, true);
}

void ReaderWriter::give_back(const LockId& lock, std::uint32_t node, bool again, ByteView payload, const Sender& from) {
  Home& home = homes_[lock.ordinal];
  const bool after_writer = home.sole && home.sole_holder == node;
  if (after_writer) {
    home.sole = false;
    home.last = node;
    home.payload.assign(payload.begin(), payload.end());
  } else {
    take_back(lock, node, from);
  }
  if (again && home.joining.count(node) != 0 && !after_writer) {
    want_shared(lock, node, kInTurn, from);
  } else if (again) {
    home.joining.erase(node);
    queue(lock, home.readers, node, from);
  }
  grant_next(lock, home, after_writer, false);
}

void ReaderWriter::open_read_phase(const LockId& lock, Home& home) {
  const std::vector<std::uint32_t> readers = std::exchange(home.readers, {});
  for (const std::uint32_t one : readers) ++home.sharing[one];
  home.recalled = !home.writers.empty();
  const bool recalled = home.recalled;
  const std::uint32_t from = home.last + 1;
  const Bytes payload = home.payload;  // copies: this node's own server may give back before `send` returns
  for (const std::uint32_t one : readers) send(lock, Verb::grant_shared, one, recalled, payload, from);
}

// `asked_now`: the last of the writers has just asked; what it gets at once was free.
void ReaderWriter::grant_next(const LockId& lock, Home& home, bool after_writer, bool asked_now) {
  if (home.sole || !home.sharing.empty()) return;
  if (!home.readers.empty() && (after_writer || home.writers.empty())) return open_read_phase(lock, home);
  home.recalled = false;
  if (home.writers.empty()) return;
  home.sole = true;
  home.sole_holder = home.writers.front();
  const bool was_free = asked_now && home.writers.size() == 1;
  home.writers.pop_front();
  const Bytes payload = home.payload;  // a copy, as above
  send(lock, Verb::grant, home.sole_holder, false, payload, was_free ? 0 : home.last + 1);
}

std::string ReaderWriter::queue_behind(const LockId& lock, Rank holder) {
  const auto found = homes_.find(lock.ordinal);
  if (found == homes_.end()) return {};
  const Home& home = found->second;
  const auto node = static_cast<std::uint32_t>(index(context_.node_of(holder)));
  const bool alone = home.sole && home.sole_holder == node;
  if (!alone && home.sharing.count(node) == 0) return {};
  std::string said = fmt::format("{} {} it", context_.name_of(context_.node_of(holder)), alone ? "has" : "shares");
  const auto add = [&](const char* what, const auto& nodes) {
    for (const std::uint32_t one : nodes)
      said += fmt::format(", {} {}", context_.name_of(NodeId(static_cast<int>(one))), what);
  };
  add("wants to write", home.writers);
  add("wants to read", home.readers);
  return said;
}

progress::Outcome ReaderWriter::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  const bool sound = body.verb == Verb::attempt && body.value < kTries && context_.at_home(lock);
  if (!sound || body.me != index(context_.node_of(request.origin))) {
    return progress::Outcome::refused;
  }
  const auto node = static_cast<std::uint32_t>(body.me);
  Home& home = homes_[lock.ordinal];
  const Sender from{Voice::rank, context_.node_of(request.origin), request.origin};
  if (body.flag != 0) {
    take_back(lock, node, from);
    grant_next(lock, home, false, false);
  }
  const bool shared = body.value != kTrySole, joins = body.value == kTryJoining;
  const bool free = takes_in(home, joins) && (shared || home.sharing.empty());
  if (free) shared ? want_shared(lock, node, joins ? kJoins : kInTurn, from) : want_sole(lock, node, from);
  LockBody said = body;
  said.other = free ? 0 : 1;
  context_.answer(request, said, {});
  return progress::Outcome::done;
}

}  // namespace grapnel::locks
