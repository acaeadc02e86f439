// Sets of locks: their beginning and their end, which the members of a group share.
//
//   every member                      the first member of each node
//   exchange: number and arguments
//   all refuse if they differ
//   allocates (segment.hpp)           … the node's block
//   knows the set by its number       makes it known to the node's server, whose rank is no member
//   exchange: status                  no message about the set is sent before
//
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/codec.hpp"
#include "exchange/agreement.hpp"
#include "locks/lock_set.hpp"
#include "locks/locks.hpp"
#include "locks/messages.hpp"

namespace grapnel::locks {
namespace {

// More than any memory has, and little enough that what follows from it fits 64 bits.
constexpr std::size_t kMostLines = std::size_t{1} << 40;

// What must be equal in all members, because they find each other's words and know what these mean by it. The rest of
// the options is each rank's own.
struct Wanted {
  std::uint64_t number = 0;   ///< what it is if this rank is the first member
  std::uint64_t refused = 1;  ///< this rank's arguments were
  std::uint64_t kind = 0, count = 0, payload_bytes = 0, lines = 0, shared_mode = 0, network = 0;

  bool agrees_with(const Wanted& other) const {
    return refused == 0 && other.refused == 0 && kind == other.kind && count == other.count &&
           payload_bytes == other.payload_bytes && lines == other.lines && shared_mode == other.shared_mode &&
           network == other.network;
  }
  std::string text() const {
    if (refused != 0) return "what it cannot have";
    return fmt::format("{} {} locks{}, payload_bytes {}, lines {}, {} shared mode", count, to_string(LockKind(kind)),
                       network != 0 ? " in the network domain" : "", payload_bytes, lines,
                       shared_mode != 0 ? "with" : "without");
  }
};

Wanted wanted_of(std::uint64_t number, int count, const LockOptions& options) {
  return {number,
          0,
          static_cast<std::uint64_t>(options.kind),
          static_cast<std::uint64_t>(count),
          options.payload_bytes,
          options.lines,
          options.shared_mode ? 1U : 0U,
          options.domain == AtomicDomain::network ? 1U : 0U};
}

// The number; or the same error in all members, so that none waits for one that left.
Result<std::uint64_t> agreed_number(const launch::Group& group, const std::vector<Bytes>& all) {
  const auto of = [&](std::size_t member) { return base::Decoder(all[member]).get<Wanted>().value_or(Wanted()); };
  const Wanted first = of(0);
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (of(member).agrees_with(first)) continue;
    return Status(Code::invalid_argument,
                  fmt::format("a set of locks is created alike in all ranks; rank {} wants {}, rank {} wants {}",
                              index(group.members[0]), first.text(), index(group.members[member]), of(member).text()));
  }
  return first.number;
}

// Of options whose kind is no longer the standard one.
Status check_network(const LockOptions& options) {
  if (!exists_in_network(options.kind)) {
    return Status(Code::unavailable,
                  fmt::format("{} locks do not exist in the network domain; test_and_set, ticket and mcs_by_cas do",
                              to_string(options.kind)));
  }
  if (options.payload_bytes != 0) {
    return Status(Code::unavailable, fmt::format("locks in the network domain carry no payload, and {} bytes are asked "
                                                 "for; use the processor's domain",
                                                 options.payload_bytes));
  }
  if (!options.shared_mode || options.kind == LockKind::test_and_set) return {};
  return Status(Code::unavailable, fmt::format("{} locks have no shared mode in the network domain; test_and_set has",
                                               to_string(options.kind)));
}

Status check(int count, const LockOptions& options) {
  if (count < 1) return Status(Code::invalid_argument, fmt::format("{} locks cannot be created", count));
  if (options.payload_bytes > kMostLockPayload) {
    return Status(Code::invalid_argument, fmt::format("a lock carries {} bytes of payload at most, not {}",
                                                      kMostLockPayload, options.payload_bytes));
  }
  if (options.lines > kMostLines) {
    return Status(Code::invalid_argument,
                  fmt::format("LockOptions::lines is {}; at most {} are possible", options.lines, kMostLines));
  }
  if (static_cast<std::size_t>(options.kind) >= kLockKinds) {
    return Status(Code::invalid_argument, fmt::format("{} is no kind of lock", static_cast<int>(options.kind)));
  }
  return {};
}

}  // namespace

bool exists_in_network(LockKind kind) {
  return kind == LockKind::test_and_set || kind == LockKind::ticket || kind == LockKind::mcs_by_cas;
}

Status Locks::with_settings(int count, LockOptions& options) const {
  GRAPNEL_TRY(check(count, options));
  const bool standard = options.kind == LockKind::standard;
  if (standard && options.payload_bytes == 0 && !options.shared_mode && settings_.domain == AtomicDomain::network) {
    options.domain = AtomicDomain::network;
  }
  const bool network = options.domain == AtomicDomain::network;
  if (standard) {
    options.kind = network && !exists_in_network(settings_.kind) ? LockKind::mcs_by_cas : settings_.kind;
  }
  if (network) GRAPNEL_TRY(check_network(options));
  options.shared_mode |= options.kind == LockKind::reader_writer;
  if (options.backoff_ns == 0) options.backoff_ns = settings_.backoff_ns;
  if (options.backoff_most_ns == 0) options.backoff_most_ns = settings_.backoff_most_ns;
  options.backoff_most_ns = std::max(options.backoff_most_ns, options.backoff_ns);
  return {};
}

std::uint64_t Locks::next_number() { return std::uint64_t{index(launch_.rank())} << 32 | ++begun_; }

Result<std::shared_ptr<Set>> Locks::create(std::shared_ptr<const launch::Group> group, int count, LockOptions options) {
  const Status mine = with_settings(count, options);
  const Wanted wanted = mine.ok() ? wanted_of(next_number(), count, options) : Wanted();
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, exchange_.allgather(*group, base::bytes_of(wanted)));
  GRAPNEL_TRY(mine);
  GRAPNEL_ASSIGN_OR_RETURN(const auto number, agreed_number(*group, all));
  auto set = prepare(number, std::move(group), count, options);
  GRAPNEL_TRY(allocate_and_begin(set));
  return set;
}

std::shared_ptr<Set> Locks::prepare(std::uint64_t number, std::shared_ptr<const launch::Group> group, int count,
                                    const LockOptions& options) const {
  return std::make_shared<Set>(environment_, number, std::move(group), count, options);
}

Status Locks::allocate_and_begin(const std::shared_ptr<Set>& set) {
  const launch::Group& group = set->group();
  const LockMemory& memory = set->memory();
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocated,
                           segments_.allocate(group, memory.allocates_block() ? memory.block_bytes() : 0));
  void* const block = allocated.parts[group.index_of(memory.block_owner())].address;
  Status failed = begin(set, block);
  if (failed.ok() || failed.code() == Code::peer_dead) return failed;
  GRAPNEL_TRY(segments_.free(group, memory.allocates_block() ? block : nullptr));
  return failed;
}

// Its words in the network domain, where the set is there. The same answer in all members, and nothing is taken where
// it fails.
Status Locks::allocate_network(Set& set) {
  const std::size_t bytes = set.network_bytes();
  if (bytes == 0) return {};
  const launch::Group& group = set.group();
  const auto at_once = segment::Taking::at_once;
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocated, segments_.allocate(group, bytes, at_once, AtomicDomain::network));
  Status opened = exchange::agree_on(exchange_, group, environment_.words->open(group));
  set.use_network(allocated.parts);
  if (opened.ok() || opened.code() == Code::peer_dead) return opened;
  GRAPNEL_TRY(free_network(set));
  return opened;
}

Status Locks::free_network(Set& set) {
  if (set.network_bytes() == 0) return {};
  environment_.words->forget_keys();
  return segments_.free(set.group(), set.my_network_part());
}

Status Locks::begin(const std::shared_ptr<Set>& set, void* block) {
  GRAPNEL_TRY(allocate_network(*set));
  set->use_block(block);
  open(set);
  const bool by_us = set->memory().allocates_block() && set->leader_is_outside();
  const Status mine = by_us ? tell_server(*set, false) : Status();
  Status failed = exchange::agree_on(exchange_, set->group(), mine);
  if (failed.ok() || failed.code() == Code::peer_dead) return failed;
  close(*set);
  if (by_us && mine.ok()) GRAPNEL_TRY(tell_server(*set, true));
  GRAPNEL_TRY(free_network(*set));
  return failed;
}

Status Locks::settle(const Set& set) { return set.network_bytes() != 0 ? environment_.words->settle() : Status(); }

Status Locks::destroy(Set& set) {
  if (set.is_closed()) return Status(Code::invalid_argument, "there are no locks to destroy");
  const launch::Group& group = set.group();
  const bool takes = set.any_taken();
  GRAPNEL_TRY(settle(set));
  GRAPNEL_ASSIGN_OR_RETURN(const auto takers, exchange_.allgather(group, base::bytes_of(takes)));
  for (std::size_t member = 0; member < takers.size(); ++member) {
    if (takers[member].front() != std::byte{0}) {
      return Status(Code::invalid_argument, fmt::format("locks are to be destroyed while rank {} holds or awaits one",
                                                        index(group.members[member])));
    }
  }
  const LockMemory& memory = set.memory();
  Status ended = end(set);
  GRAPNEL_TRY(segments_.free(group, memory.allocates_block() ? memory.block() : nullptr));
  return ended;
}

Status Locks::end(Set& set) {
  close(set);
  const bool by_us = set.memory().allocates_block() && set.leader_is_outside();
  Status told = by_us ? tell_server(set, true) : Status();
  GRAPNEL_TRY(free_network(set));
  return told;
}

void Locks::open(std::shared_ptr<Set> set) {
  const base::ExclusiveLock lock(mutex_);
  const std::uint64_t number = set->number();
  sets_.emplace(number, std::move(set));
}

void Locks::close(Set& set) {
  const base::ExclusiveLock lock(mutex_);
  add(closed_[static_cast<std::size_t>(set.options().kind)], set.counts());
  set.close();
  sets_.erase(set.number());
}

// ---- the server of a node whose leader is no member

Status Locks::tell_server(const Set& set, bool ends) {
  const LockOptions& options = set.options();
  LockSetBody body;
  body.set = set.number();
  body.block = reinterpret_cast<std::uintptr_t>(set.memory().block());
  body.payload_bytes = options.payload_bytes;
  body.lines = options.lines;
  body.kind = static_cast<std::uint32_t>(options.kind);
  body.count = set.count();
  body.ends = ends ? 1 : 0;
  body.shared_mode = options.shared_mode ? 1 : 0;
  const Bytes members = launch::member_bits(set.group(), launch_.size());
  progress::OutgoingRequest request;
  request.handler = kLockSetHandler;
  request.body = base::bytes_of(body);
  request.payload = members;
  const progress::Client::Guard guard(*environment_.client);
  GRAPNEL_ASSIGN_OR_RETURN(const auto answered, environment_.client->ask(launch_.node(), request));
  if (answered.code == progress::ReplyCode::answer) return {};
  return Status(Code::refused, fmt::format("the server of node {} refused a set of locks", index(launch_.node())));
}

progress::Outcome Locks::on_set(progress::Request& request) {
  const auto body = request.body_as<LockSetBody>();
  auto group = launch::group_of_bits(request.payload, launch_.size());
  if (!group || body.shared_mode > 1 || body.ends > 1) return progress::Outcome::refused;
  const std::shared_ptr<Set> known = [&] {
    const base::SharedLock lock(mutex_);
    return find(body.set);
  }();
  if (body.ends != 0) {
    const bool by_owner = known != nullptr && known->memory().block_owner() == request.origin;
    if (!by_owner || known->group().contains(launch_.rank())) return progress::Outcome::refused;
    close(*known);
  } else {
    if (known != nullptr) return progress::Outcome::refused;
    auto set = set_of(body, std::make_shared<const launch::Group>(*std::move(group)));
    if (set == nullptr || set->memory().block_owner() != request.origin) return progress::Outcome::refused;
    set->use_block(reinterpret_cast<void*>(body.block));
    open(std::move(set));
  }
  request.answer({}, {});
  return progress::Outcome::done;
}

// Null where no program of this version sends that.
std::shared_ptr<Set> Locks::set_of(const LockSetBody& body, std::shared_ptr<const launch::Group> group) const {
  LockOptions options;
  options.kind = static_cast<LockKind>(body.kind);
  options.payload_bytes = body.payload_bytes;
  options.lines = body.lines;
  options.shared_mode = body.shared_mode != 0;
  const bool sound = body.kind < kLockKinds && options.kind != LockKind::standard && check(body.count, options).ok() &&
                     !group->contains(launch_.rank()) && body.set >> 32 == index(group->members.front());
  if (!sound) return nullptr;
  auto set = std::make_shared<Set>(environment_, body.set, std::move(group), body.count, options);
  const LockMemory& memory = set->memory();
  const bool has_memory = !memory.local_ranks().empty() && body.block % LockMemory::kLineBytes == 0 &&
                          segments_.contains(reinterpret_cast<void*>(body.block), memory.block_bytes());
  return has_memory ? set : nullptr;
}

}  // namespace grapnel::locks
