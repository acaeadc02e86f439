// SPDX-License-Identifier: Apache-2.0
#include "locks/kinds/lock_context.hpp"

#include <algorithm>
#include <cstdlib>

namespace grapnel::locks {
namespace {

using Composed = WithPayload<LockBody, kMostLockBytes>;

// acquire: pairs with the release of the thread that took the reply.
bool has_arrived(const Answer& answer) { return answer.arrived.load(std::memory_order_acquire); }

std::size_t members_here(const launch::Launch& launch, const launch::Group& group) {
  return static_cast<std::size_t>(std::count_if(group.members.begin(), group.members.end(), [&](Rank member) {
    return launch.nodes().node_of[index(member)] == launch.node();
  }));
}

std::size_t lines_of(const launch::Launch& launch, const launch::Group& group, int count, const LockOptions& options) {
  if (options.domain == AtomicDomain::network) return 0;  // as those at home only
  const std::size_t here = members_here(launch, group);
  const auto wanted_for = [&](std::size_t homes) {
    const std::size_t locks = static_cast<std::size_t>(count) * homes;
    return options.lines != 0 ? options.lines : std::min<std::size_t>(locks, 16'384);
  };
  switch (options.kind) {
    case LockKind::mcs:
    case LockKind::mcs_by_cas: return wanted_for(group.size()) * here;
    case LockKind::cohort:
    case LockKind::reader_writer: return here == group.size() ? 0 : wanted_for(group.size() - here);
    default: return 0;  // their words are at home only
  }
}

LockMemory::Needs needs_of(const launch::Launch& launch, const launch::Group& group, int count,
                           const LockOptions& options) {
  const bool counts = LockContext::counts_readers(options);
  return {.payload_bytes = options.payload_bytes + (counts ? sizeof(Tally) : 0),
          .lines = lines_of(launch, group, count, options),
          .places = options.kind == LockKind::cohort || options.kind == LockKind::reader_writer,
          .readers = counts};
}

}  // namespace

LockContext::LockContext(const LockEnvironment& environment, std::uint64_t set,
                         std::shared_ptr<const launch::Group> members, int locks, const LockOptions& wanted)
    : launch(environment.launch),
      waiting(environment.waiting),
      options(wanted),
      group(std::move(members)),
      count(locks),
      one_node(members_here(launch, *group) == group->size()),
      me(launch.rank()),
      my_node(launch.node()),
      memory(launch, *group, locks, needs_of(launch, *group, locks, wanted)),
      words(environment.words),
      client_(environment.client),
      server_(environment.server),
      set_(set),
      random_(index(me) + 1) {}

Status LockContext::deliver(Voice voice, NodeId to, const LockId& lock, const LockBody& body, ByteView payload) {
  if (to == my_node) {
    const Sender from{voice, my_node, voice == Voice::rank ? std::optional(me) : std::nullopt};
    algorithm_->hear(lock, body, payload, from);
    return {};
  }
  if (voice == Voice::rank) return tell(to, body, payload);
  statistics.server_messages.add(1);
  server_->tell(to, kLockTellHandler, Composed(body, payload).view());
  return {};
}

// The caller has the client's guard.
Status LockContext::send_to(NodeId to, ByteView composed) {
  progress::OutgoingRequest request;
  request.handler = kLockTellHandler;
  request.body = composed;
  statistics.messages.add(1);
  return client_->send(to, request).status();
}

// The payload is read before the guard: it may lie in the shared heap, where a fault needs the client.
Status LockContext::tell(NodeId to, const LockBody& body, ByteView payload) {
  const Composed composed(body, payload);
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(send_to(to, composed.view()));
  return client_->drain(to);
}

// Not `drain`, which ends where the job does: no other thread would move it then.
void LockContext::tell_at_the_end(NodeId to, const LockBody& body, std::uint64_t until_ns) {
  progress::Client::Guard guard(*client_);
  if (!send_to(to, Composed(body, {}).view()).ok()) return;
  while (!client_->try_drain(to) && waiting.host().now_ns() < until_ns) client_->progress();
}

Status LockContext::ask(Acquisition& a, NodeId to, const LockBody& body, ByteView payload) {
  const Composed composed(body, payload);
  a.answer = std::make_unique<Answer>();
  progress::OutgoingRequest request;
  request.handler = kLockAskHandler;
  request.body = composed.view();
  request.on_reply = {[](void* context, const progress::Reply& reply) {
                        auto& answer = *static_cast<Answer*>(context);
                        answer.refused = reply.code != progress::ReplyCode::answer ||
                                         reply.body.size() > sizeof(LockBody) + kMostLockBytes;
                        answer.body = reply.body_as<LockBody>();
                        if (reply.body.size() > sizeof(LockBody)) {
                          const ByteView rest = reply.body.subspan(sizeof(LockBody));
                          answer.payload.assign(rest.begin(), rest.end());
                        }
                        answer.arrived.store(true, std::memory_order_release);  // pairs with `has_arrived`
                      },
                      a.answer.get()};
  a.asked_by = this;
  statistics.messages.add(1);
  progress::Client::Guard guard(*client_);
  if (const auto sent = client_->send(to, request); !sent) return sent.status();
  return client_->drain(to);  // also for requests that are not waited for now: no other thread would move it
}

void LockContext::keep(std::unique_ptr<Answer> awaited) {
  const base::MutexLock lock(abandoned_mutex_);
  abandoned_.push_back(std::move(awaited));
}

// A late answer must find its place.
void Acquisition::leave_answer() {
  if (!has_arrived(*answer)) asked_by->keep(std::move(answer));
}

Status LockContext::wait_for_answer(Acquisition& a, std::uint64_t until_ns) {
  if (!has_arrived(*a.answer)) {
    progress::Client::Guard guard(*client_);
    GRAPNEL_TRY(client_->wait_until([&] { return has_arrived(*a.answer); }, until_ns));
  }
  if (!a.answer->refused) return {};
  return Status(Code::refused, fmt::format("lock {} of rank {}: its home's server refused the request", a.lock.index,
                                           index(a.lock.home)));
}

void LockContext::answer(progress::Request& request, const LockBody& body, ByteView payload) {
  statistics.server_messages.add(1);
  request.answer(Composed(body, payload).view(), {});
}

void LockContext::answer_later(Rank to, std::uint64_t token, const LockBody& body, ByteView payload) {
  statistics.server_messages.add(1);
  server_->answer_later(to, token, Composed(body, payload).view());
}

void LockContext::abort_job(const LockId& lock, const Sender& from, const std::string& what) const {
  const std::string who =
      from.rank ? fmt::format("rank {}", index(*from.rank)) : fmt::format("the server of node {}", index(from.node));
  launch.abort(1, fmt::format("lock {} of rank {} ({}): {} {}, which no program of this version does", lock.index,
                              index(lock.home), to_string(options.kind), who, what));
  std::abort();  // not reached; gcc does not see it
}

Status LockContext::no_line(const LockId& lock) const {
  return Status(Code::no_memory,
                fmt::format("lock {} of rank {} is one too many: this node keeps words for {} locks of the set; "
                            "create it with more LockOptions::lines",
                            lock.index, index(lock.home), memory.capacity()));
}

std::string LockContext::name_of(NodeId node) const {
  return fmt::format("node {} ({})", index(node), name_of(launch.nodes().ranks_of[index(node)]));
}

std::string LockContext::name_of(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 16;
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", index(ranks[i]));
  }
  return ranks.size() > kMost ? names + ", ..." : names;
}

void LockContext::set_pause(Acquisition& a, std::uint64_t pause_ns) {
  a.pause_ns = std::min(pause_ns, options.backoff_most_ns);
  // relaxed: nothing but a source of numbers.
  const std::uint64_t seed = random_.fetch_add(0x9e3779b97f4a7c15ULL, std::memory_order_relaxed);
  a.not_before_ns = waiting.host().now_ns() + a.pause_ns / 2 + base::Random(seed).below(a.pause_ns / 2 + 1);
}

Status LockContext::pause(const Acquisition& a, std::uint64_t until_ns) {
  if (a.not_before_ns == 0 || waiting.host().now_ns() >= a.not_before_ns) return {};
  if (until_ns == 0) return Status(Code::timed_out, "not yet");
  const bool ends = until_ns < a.not_before_ns;
  os::Word nobody_wakes{0};
  Status slept = wait_on(nobody_wakes, ends ? until_ns : a.not_before_ns, [] { return false; });
  if (slept.code() == Code::timed_out && !ends) return {};
  return slept;
}

}  // namespace grapnel::locks
