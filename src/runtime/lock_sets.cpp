// Sets of locks: their memory, their beginning and their end, which all ranks share.
#include <fmt/format.h>

#include "base/codec.hpp"
#include "locks/lock_set.hpp"
#include "runtime/implementation.hpp"
#include "runtime/lock_set_access.hpp"

namespace grapnel {
namespace {

// What the ranks must have alike, because they find each other's words and know what these mean by it. The rest of the
// options is each rank's own.
struct Wanted {
  std::uint64_t refused = 1;  ///< this rank's arguments were
  std::uint64_t kind = 0, count = 0, payload_bytes = 0, lines = 0;

  bool operator==(const Wanted&) const = default;
  std::string text() const {
    if (refused != 0) return "what it cannot have";
    return fmt::format("{} {} locks, payload_bytes {}, lines {}", count, to_string(LockKind(kind)), payload_bytes,
                       lines);
  }
};

Wanted wanted_of(int count, const LockOptions& options) {
  return {0, static_cast<std::uint64_t>(options.kind), static_cast<std::uint64_t>(count), options.payload_bytes,
          options.lines};
}

// The same answer in all ranks, so that none waits for one that left.
Status check_alike(const std::vector<Bytes>& all) {
  const auto of = [&](std::size_t rank) { return base::Decoder(all[rank]).get<Wanted>().value_or(Wanted()); };
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (of(rank).refused == 0 && of(rank) == of(0)) continue;
    return Status(Code::invalid_argument,
                  fmt::format("a set of locks is created alike in all ranks; rank 0 wants {}, rank {} wants {}",
                              of(0).text(), rank, of(rank).text()));
  }
  return {};
}

}  // namespace

Result<LockSet> Runtime::Implementation::create_lock_set(int count, const LockOptions& options) {
  const progress::WaitScope scope("create_lock_set");
  auto prepared = locks->prepare(count, options);
  const Wanted mine = prepared ? wanted_of(count, (*prepared)->options()) : Wanted();
  const auto all = allgather(world, base::bytes_of(mine));
  if (!all) return all.status();
  if (!prepared) return prepared.status();
  GRAPNEL_TRY(check_alike(*all));
  const std::shared_ptr<locks::Set> set = *prepared;
  auto memory = allocate(world, set->bytes_here());
  if (!memory) return memory.status();
  std::vector<void*> parts;
  for (int rank = 0; rank < launch->size(); ++rank) parts.push_back(memory->on(Rank(rank)));
  set->place(parts);
  locks->open(set);
  lock_memory_[set.get()] = std::move(*memory);
  GRAPNEL_TRY(allgather(world, {}).status());  // nobody speaks of the set before all know it
  return LockSetAccess::wrap(set);
}

Status Runtime::Implementation::destroy_lock_set(const LockSet& handle) {
  const progress::WaitScope scope("destroy_lock_set");
  const std::shared_ptr<locks::Set>& set = LockSetAccess::of(handle);
  const auto found = lock_memory_.find(set.get());
  if (found == lock_memory_.end()) return Status(Code::invalid_argument, "there are no locks to destroy");
  // All ranks answer alike, so that none waits for one that left.
  const bool takes = set->any_taken();
  const auto takers = allgather(world, base::bytes_of(takes));
  if (!takers) return takers.status();
  for (std::size_t rank = 0; rank < takers->size(); ++rank) {
    if ((*takers)[rank].front() != std::byte{0}) {
      return Status(Code::invalid_argument,
                    fmt::format("locks are to be destroyed while rank {} holds or awaits one", rank));
    }
  }
  locks->close(*set);
  const Memory memory = found->second;
  lock_memory_.erase(found);
  return free(world, memory);
}

Status Runtime::Implementation::create_locks(int count, const LockOptions& options) {
  if (LockSetAccess::of(default_locks)) {
    return Status(Code::invalid_argument, "locks exist already; destroy them first, or create a lock set of its own");
  }
  auto created = create_lock_set(count, options);
  if (created) default_locks = *created;
  return created.status();
}

Status Runtime::Implementation::destroy_locks() {
  GRAPNEL_TRY(destroy_lock_set(default_locks));
  default_locks = {};
  return {};
}

Result<std::vector<LockCounts>> Runtime::Implementation::sum_lock_counts() {
  std::vector<LockCounts> sum(locks::kLockKinds);
  const std::vector<LockCounts> mine = locks->counts();
  const auto all = allgather(world, std::as_bytes(std::span(mine)));
  if (!all) return all.status();
  for (const Bytes& one : *all) {
    base::Decoder counts(one);
    for (LockCounts& kind : sum) {
      if (const auto theirs = counts.get<LockCounts>()) locks::add(kind, *theirs);
    }
  }
  return sum;
}

}  // namespace grapnel
