// reader_writer between nodes: what a node's server hears from a home, and what a home hears from the nodes.
#include <algorithm>

#include "sync/locks/reader_writer.hpp"

namespace grapnel::sync::locks {

bool ReaderWriter::hear(const LockId& lock, const LockBody& body, ByteView payload, Voice voice) {
  if (body.me >= ground_.launch.nodes().node_count()) return false;
  const auto node = static_cast<std::uint32_t>(body.me);
  const bool to_home = body.verb == Verb::want_shared || body.verb == Verb::want_sole || body.verb == Verb::give_back;
  if (to_home ? !ground_.at_home(lock) : node != my_node() || find(lock) == nullptr) return false;
  // relaxed: for the statistics only.
  if (!to_home && body.verb != Verb::recall) {
    find(lock)->from.store(static_cast<std::uint32_t>(body.value), std::memory_order_relaxed);
  }
  switch (body.verb) {
    case Verb::grant: return on_sole(lock, payload, voice);
    case Verb::grant_shared: return on_shared(lock, body.flag != 0, payload, voice);
    case Verb::recall: return on_recall(lock, voice);
    case Verb::want_shared: want_shared(lock, node); return true;
    case Verb::want_sole:
      if (body.flag != 0) take_back(homes_[lock.ordinal], node);
      want_sole(lock, node);
      return true;
    case Verb::give_back: give_back(lock, node, body.flag != 0, payload); return true;
    default: return false;
  }
}

// ---- the node

bool ReaderWriter::on_sole(const LockId& lock, ByteView payload, Voice voice) {
  Words& words = *find(lock);
  ground_.memory.keep(&words, 0, payload);
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
  // Whoever wanted it gave up.
  return tell_home(voice, lock, Verb::give_back, asks_now(changed), payload).ok();
}

bool ReaderWriter::on_shared(const LockId& lock, bool recalled, ByteView payload, Voice voice) {
  Words& words = *find(lock);
  ground_.memory.keep(&words, 0, payload);
  const Changed changed = update(words, [&](View& v) {
    v.asked_shared = false;
    if (v.waiting != 0) v.admit_waiting();
    const bool stays = !recalled || v.readers != 0;
    v.grant = stays ? View::kShared : View::kNothing;
    v.recalled = recalled && stays;
    return true;
  });
  if (changed.after.phase != changed.before.phase) ring(words);
  if (changed.after.grant == View::kShared) return true;
  return tell_home(voice, lock, Verb::give_back, false).ok();
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
  LockBody body = ground_.body(verb, lock, node);
  body.flag = flag ? 1 : 0;
  body.value = from;
  static_cast<void>(ground_.deliver(Voice::server, NodeId(static_cast<int>(node)), lock, body, payload));
}

void ReaderWriter::take_back(Home& home, std::uint32_t node) {
  const auto found = home.sharing.find(node);
  if (found != home.sharing.end() && --found->second == 0) home.sharing.erase(found);
  home.last = node;
}

void ReaderWriter::want_shared(const LockId& lock, std::uint32_t node) {
  Home& home = homes_[lock.ordinal];
  if (home.sole || !home.writers.empty()) {
    home.readers.push_back(node);
    return;
  }
  ++home.sharing[node];
  const Bytes payload = home.payload;
  send(lock, Verb::grant_shared, node, false, payload, 0);
}

void ReaderWriter::want_sole(const LockId& lock, std::uint32_t node) {
  Home& home = homes_[lock.ordinal];
  home.writers.push_back(node);
  if (!home.sole && !home.recalled && !home.sharing.empty()) {
    home.recalled = true;
    // A copy: a node that gives back at once, this one, changes the set.
    const std::map<std::uint32_t, int> sharing = home.sharing;
    for (const auto& [one, grants] : sharing) send(lock, Verb::recall, one, false, {}, 0);
  }
  grant_next(lock, home, false, true);
}

void ReaderWriter::give_back(const LockId& lock, std::uint32_t node, bool again, ByteView payload) {
  Home& home = homes_[lock.ordinal];
  const bool after_writer = home.sole && home.sole_holder == node;
  if (after_writer) {
    home.sole = false;
    home.last = node;
    home.payload.assign(payload.begin(), payload.end());
  } else {
    take_back(home, node);
  }
  if (again) home.readers.push_back(node);
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
  const auto node = static_cast<std::uint32_t>(index(ground_.node_of(holder)));
  const bool alone = home.sole && home.sole_holder == node;
  if (!alone && home.sharing.count(node) == 0) return {};
  std::string said = fmt::format("{} {} it", ground_.name_of(ground_.node_of(holder)), alone ? "has" : "shares");
  const auto add = [&](const char* what, const auto& nodes) {
    for (const std::uint32_t one : nodes)
      said += fmt::format(", {} {}", ground_.name_of(NodeId(static_cast<int>(one))), what);
  };
  add("wants to write", home.writers);
  add("wants to read", home.readers);
  return said;
}

progress::Outcome ReaderWriter::answer(const LockId& lock, const LockBody& body, ByteView, progress::Request& request) {
  if (body.verb != Verb::attempt || !ground_.at_home(lock) || body.me != index(ground_.node_of(request.origin))) {
    return progress::Outcome::refused;
  }
  const auto node = static_cast<std::uint32_t>(body.me);
  Home& home = homes_[lock.ordinal];
  if (body.flag != 0) {
    take_back(home, node);
    grant_next(lock, home, false, false);
  }
  const bool shared = body.value != 0;
  const bool free = !home.sole && home.writers.empty() && (shared || home.sharing.empty());
  if (free) shared ? want_shared(lock, node) : want_sole(lock, node);
  LockBody said = body;
  said.other = free ? 0 : 1;
  ground_.answer(request, said, {});
  return progress::Outcome::done;
}

}  // namespace grapnel::sync::locks
