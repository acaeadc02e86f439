// A node's side of the lock: what its ranks do. reader_writer_home.cpp has what the servers do.
// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/reader_writer.hpp"

namespace grapnel::locks {

void ReaderWriter::ring(Words& words) {
  words.bell.fetch_add(1);
  context_.waiting.host().wake(words.bell);
}

void ReaderWriter::finish(Acquisition& a, Words& words, bool waited) {
  // relaxed: for reports only.
  if (!a.shared) words.holder.store(static_cast<std::uint32_t>(index(context_.me)) + 1, std::memory_order_relaxed);
  // relaxed: for the statistics only.
  const std::uint32_t from = context_.one_node ? my_node() + 1 : words.from.load(std::memory_order_relaxed);
  if (waited && from != 0) a.came = from == my_node() + 1 ? Came::from_this_node : Came::from_elsewhere;
  a.received = context_.memory.kept(&words, 0);
  a.done = true;
}

// In a job of several nodes the home is its server, also for ranks beside it.
Status ReaderWriter::tell_home(Voice voice, const LockId& lock, Verb verb, std::uint16_t flag, ByteView payload) {
  LockBody body = context_.body(verb, lock, my_node());
  body.flag = flag;
  const NodeId home = context_.node_of(lock.home);
  return voice == Voice::rank ? context_.tell(home, body, payload) : context_.deliver(voice, home, lock, body, payload);
}

// ---- acquiring

bool ReaderWriter::take_now(const LockId& lock, bool shared) {
  Words* words = find(lock);
  if (words == nullptr) return false;
  if (shared) {
    std::uint64_t seen = words->state.load();
    do {
      if (!open_to_readers(View::unpack(seen))) return false;
    } while (!words->state.compare_exchange_weak(seen, seen + View::kReader));
    return true;
  }
  if (!context_.one_node || !writers_.take_if_free(words->writers)) return false;
  const bool got = update(*words, [](View& v) {
                     if (v.readers != 0) return false;
                     return v.writer = true;
                   }).done;
  if (!got) writers_.release(words->writers, lock.ordinal);
  return got;
}

bool ReaderWriter::join_now(Words& words) {
  return update(words,
                [&](View& v) {
                  if (!open_to_joining(v)) return false;
                  ++v.readers;
                  return true;
                })
      .done;
}

Status ReaderWriter::start(Acquisition& a) {
  Words* words = make(a.lock);
  if (words == nullptr) return context_.no_line(a.lock);
  if (a.shared) return start_reader(a, *words);
  a.stage = kQueued;
  if (writers_.take_if_free(words->writers)) return start_first_writer(a, *words);
  const auto first = writers_.enter(words->writers, a);
  if (!first) return first.status();
  return *first ? start_first_writer(a, *words) : Status{};
}

Status ReaderWriter::start_reader(Acquisition& a, Words& words) {
  a.stage = kReads;
  const Changed changed = update(words, [&](View& v) {
    if (open_to_readers(v) || (a.joins && open_to_joining(v))) {
      ++v.readers;
      return true;
    }
    ++v.waiting;
    // Where the node has a grant that it will give back, it asks again in that message.
    if (!context_.one_node && v.grant == View::kNothing) v.asked_shared = true;
    v.asked_join |= a.joins && v.asked_shared;
    return true;
  });
  a.ticket = changed.before.phase;
  if (changed.after.readers != changed.before.readers) {
    finish(a, words, false);
    return {};
  }
  if (asks_now(changed)) return tell_home(Voice::rank, a.lock, Verb::want_shared, a.joins ? kJoins : kInTurn);
  const bool joins_now = changed.after.asked_join && !changed.before.asked_join;
  return joins_now ? tell_home(Voice::rank, a.lock, Verb::want_shared, kRequestJoins) : Status{};
}

// The caller holds the node's queue of writers.
Status ReaderWriter::start_first_writer(Acquisition& a, Words& words) {
  a.stage = kFirstWriter;
  bool returns = false;
  const Changed changed = update(words, [&](View& v) {
    returns = false;
    if (context_.one_node && v.readers == 0) return v.writer = true;
    v.writer_waits = true;
    if (context_.one_node || v.asked_sole) return true;
    v.asked_sole = true;
    returns = v.grant == View::kShared && v.readers == 0;
    if (returns) {
      v.grant = View::kNothing;
      v.recalled = false;
      v.asked_shared |= v.waiting != 0;
    }
    return true;
  });
  if (changed.after.writer) {
    finish(a, words, false);
    return {};
  }
  if (changed.after.asked_sole == changed.before.asked_sole) return {};
  GRAPNEL_TRY(tell_home(Voice::rank, a.lock, Verb::want_sole, returns));
  return asks_now(changed) ? tell_home(Voice::rank, a.lock, Verb::want_shared, kInTurn) : Status{};
}

Status ReaderWriter::advance(Acquisition& a, std::uint64_t until_ns) {
  Words& words = *find(a.lock);
  if (a.stage == kReads) {
    GRAPNEL_TRY(context_.wait_on(words.bell, until_ns, [&] { return view(words).phase != a.ticket; }));
    finish(a, words, true);
    return {};
  }
  if (a.stage == kQueued) {
    const auto passed = writers_.wait(words.writers, a, until_ns);
    if (!passed) return passed.status();
    GRAPNEL_TRY(start_first_writer(a, words));
    a.came = Came::from_this_node;  // unless another node gets it in between
    if (a.done) return {};
  }
  // In a job of one node the last reader admits it, else a grant, which the node's server receives.
  const auto is_inside = [&] { return view(words).writer; };
  GRAPNEL_TRY(context_.one_node ? context_.wait_on(words.bell, until_ns, is_inside)
                                : context_.wait_for_server(words.bell, until_ns, is_inside));
  finish(a, words, true);
  return {};
}

// ---- giving up, trying

// `asked`: the caller asked the home alone, and in vain; who came to wait beside it must ask again.
void ReaderWriter::withdraw_reader(Words& words, Acquisition& a, bool& asks_again, bool asked) {
  const Changed changed = update(words, [&](View& v) {
    if (v.phase != a.ticket) return false;
    --v.waiting;
    if (asked) v.asked_shared = v.waiting != 0;
    v.asked_join &= v.asked_shared;
    return true;
  });
  if (!changed.done) finish(a, words, true);
  asks_again = changed.done && asked && changed.after.asked_shared;
}

// True: withdrawn; the caller still holds the queue of writers. Readers that waited for the writer alone come in.
bool ReaderWriter::withdraw_writer(Words& words, bool asked) {
  const Changed changed = update(words, [&](View& v) {
    if (v.writer) return false;
    v.writer_waits = false;
    if (asked) v.asked_sole = false;
    if (v.waiting != 0 && open_to_readers(v)) v.admit_waiting();
    return true;
  });
  if (changed.after.phase != changed.before.phase) ring(words);
  return changed.done;
}

Status ReaderWriter::give_up(Acquisition& a) {
  Words& words = *find(a.lock);
  if (a.stage == kReads) {
    bool asks_again = false;
    withdraw_reader(words, a, asks_again, false);
    return {};
  }
  if (a.stage == kQueued) {
    if (writers_.leave(words.writers, a)) return {};
    const auto passed = writers_.wait(words.writers, a, progress::Waiting::kForever);
    if (!passed) return passed.status();
  } else if (!withdraw_writer(words, false)) {
    finish(a, words, true);
    return {};
  }
  writers_.release(words.writers, a.lock.ordinal);
  return {};
}

Status ReaderWriter::attempt(Acquisition& a) {
  Words* words = make(a.lock);
  if (words == nullptr) return context_.no_line(a.lock);
  if (take_now(a.lock, a.shared) || (a.joins && join_now(*words))) {
    finish(a, *words, false);
    return {};
  }
  if (context_.one_node) return {};
  return a.shared ? try_reader(a, *words) : try_writer(a, *words);
}

// The home answers whether it has granted; the grant itself is sent to the node's server, like every other.
Result<bool> ReaderWriter::ask_home_to_try(Acquisition& a, bool returns) {
  LockBody body = context_.body(Verb::attempt, a.lock, my_node());
  body.flag = returns ? 1 : 0;
  body.value = a.joins ? kTryJoining : a.shared ? kTryShared : kTrySole;
  GRAPNEL_TRY(context_.ask(a, context_.node_of(a.lock.home), body, {}));
  GRAPNEL_TRY(context_.wait_for_answer(a, progress::Waiting::kForever));
  return a.answer->body.other == 0;
}

Status ReaderWriter::try_reader(Acquisition& a, Words& words) {
  const Changed changed = update(words, [&](View& v) {
    if (v.grant != View::kNothing || v.asked_shared || (v.writer_waits && !a.joins)) return false;
    ++v.waiting;
    return v.asked_shared = true;
  });
  if (!changed.done) return {};
  a.stage = kReads;
  a.ticket = changed.before.phase;
  GRAPNEL_ASSIGN_OR_RETURN(const auto granted, ask_home_to_try(a, false));
  if (granted) return advance(a, progress::Waiting::kForever);
  bool asks_again = false;
  withdraw_reader(words, a, asks_again, true);
  return asks_again ? tell_home(Voice::rank, a.lock, Verb::want_shared, kInTurn) : Status{};
}

Status ReaderWriter::try_writer(Acquisition& a, Words& words) {
  if (!writers_.take_if_free(words.writers)) return {};
  bool returns = false;
  const Changed changed = update(words, [&](View& v) {
    if (v.readers != 0 || v.waiting != 0 || v.asked_sole || v.asked_shared) return false;
    returns = v.grant == View::kShared;
    v.grant = View::kNothing;
    v.recalled = false;
    v.writer_waits = true;
    return v.asked_sole = true;
  });
  if (!changed.done) {
    writers_.release(words.writers, a.lock.ordinal);
    return {};
  }
  a.stage = kFirstWriter;
  GRAPNEL_ASSIGN_OR_RETURN(const auto granted, ask_home_to_try(a, returns));
  if (granted) return advance(a, progress::Waiting::kForever);
  if (withdraw_writer(words, true)) {
    writers_.release(words.writers, a.lock.ordinal);
  } else {
    finish(a, words, true);
  }
  return {};
}

// ---- releasing

// In a job of one node, where no reader waits.
bool ReaderWriter::release_now(const LockId& lock) {
  if (!context_.one_node) return false;
  Words& words = *find(lock);
  std::uint64_t seen = words.state.load();
  View after;
  do {
    after = View::unpack(seen);
    if (after.waiting != 0) return false;
    after.writer = false;
  } while (!words.state.compare_exchange_weak(seen, after.pack()));
  writers_.release(words.writers, lock.ordinal);
  return true;
}

Status ReaderWriter::release(const LockId& lock, bool shared, ByteView payload) {
  Words& words = *find(lock);
  return shared ? leave_reader(lock, words) : leave_writer(lock, words, payload);
}

Status ReaderWriter::leave_reader(const LockId& lock, Words& words) {
  const Changed changed = update(words, [&](View& v) {
    --v.readers;
    if (v.readers != 0) return true;
    if (context_.one_node && v.writer_waits) {
      v.writer_waits = false;
      v.writer = true;
    } else if (v.recalled) {
      v.grant = View::kNothing;
      v.recalled = false;
      v.asked_shared |= v.waiting != 0;
    }
    return true;
  });
  if (changed.after.writer) ring(words);
  if (!changed.before.recalled || changed.after.recalled) return {};
  return tell_home(Voice::rank, lock, Verb::give_back, asks_now(changed));
}

Status ReaderWriter::leave_writer(const LockId& lock, Words& words, ByteView payload) {
  context_.memory.keep(&words, 0, payload);
  const Changed changed = update(words, [&](View& v) {
    v.writer = false;
    if (context_.one_node) {
      if (v.waiting != 0) v.admit_waiting();
    } else {
      v.grant = View::kNothing;
      v.asked_shared |= v.waiting != 0;
    }
    return true;
  });
  if (changed.after.phase != changed.before.phase) ring(words);
  Status told;
  if (!context_.one_node) told = tell_home(Voice::rank, lock, Verb::give_back, asks_now(changed), payload);
  writers_.release(words.writers, lock.ordinal);
  return told;
}

std::string ReaderWriter::describe(const Acquisition& a) {
  Words* words = find(a.lock);
  if (words == nullptr) return "its home has not answered yet";
  const View v = view(*words);
  const std::uint32_t holder = words->holder.load();
  if (v.writer && holder != 0) return fmt::format("rank {} holds it alone", holder - 1);
  if (v.readers != 0) return fmt::format("{} readers of this node are inside", v.readers);
  return "its home has not granted it to this node";
}

}  // namespace grapnel::locks
