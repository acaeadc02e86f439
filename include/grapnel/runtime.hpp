// Grapnel's C++ interface: one object per rank that reaches the memory of all ranks.
//
//   auto started = grapnel::Runtime::start();             // under `grapnel run`, mpirun, srun, or alone
//   if (!started) { std::fprintf(stderr, "%s\n", started.status().to_string().c_str()); return 1; }
//   grapnel::Runtime& g = **started;
//   auto memory = g.allocate(4096);                       // collective: 4 KiB in every rank
//   if (!memory) g.abort(1, memory.status().to_string());
//   double x = 1;
//   grapnel::Status done = g.put(&x, memory->on(grapnel::Rank{0}), sizeof x, grapnel::Rank{0});
//   if (done) done = g.barrier();                         // every put of every rank is complete now
//   if (done) done = g.finish();
//   if (!done) g.abort(1, done.to_string());
//
// An address of a remote rank is that rank's own pointer, as `Memory::on` gives it. On the caller's node it may be
// dereferenced; elsewhere it only names the place for the calls below. The target rank takes no part in any of them.
//
// Completion: a blocking put or accumulate returns when its source may be reused; a get when the data is there; a
// fence when the caller's puts and accumulates are complete at the target; a barrier when those of all ranks are.
// Order: blocking operations of one rank to the same bytes take effect in program order; nothing else is ordered.
// Atomicity: accumulates against accumulates, per element; read-modify-writes against each other, per word.
// Threads: any thread may call; collective calls from one thread at a time.
// Errors: a Status that names the argument. Nothing is touched when a call answers invalid_argument. When a rank dies
// the job ends everywhere, within seconds; calls under way may answer peer_dead before. A call that sends (operations,
// fences, notify, locks) may answer peer_dead or system; refused: the target's server checked what it was sent and
// declined it. For a put or an accumulate that was under way the next fence or barrier answers it.
// Source: armci-multiprotocol, section 2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "grapnel/atomic_domain.hpp"
#include "grapnel/barrier.hpp"
#include "grapnel/element.hpp"
#include "grapnel/export.hpp"
#include "grapnel/group.hpp"
#include "grapnel/handle.hpp"
#include "grapnel/lock.hpp"
#include "grapnel/lock_set.hpp"
#include "grapnel/operation_count.hpp"
#include "grapnel/pending_collective.hpp"
#include "grapnel/reduction.hpp"
#include "grapnel/shape.hpp"
#include "grapnel/shared_heap.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel {

/// What `Runtime::allocate` gave: one part per member. Copying it copies the addresses, not the memory.
class Memory {
 public:
  Memory() = default;
  /// The parts by the members' places in `group`.
  Memory(Group group, std::vector<void*> addresses, std::vector<std::size_t> bytes, Rank me)
      : group_(std::move(group)),
        counts_through_(counts_through(group_.members())),
        addresses_(std::move(addresses)),
        bytes_(std::move(bytes)),
        local_(on(me)) {}
  /// Where a member's part begins; null for an empty part and for a rank that is no member.
  void* on(Rank rank) const {
    const std::size_t place = place_of(rank);
    return place < addresses_.size() ? addresses_[place] : nullptr;
  }
  /// 0 for a rank that is no member.
  std::size_t bytes_on(Rank rank) const {
    const std::size_t place = place_of(rank);
    return place < bytes_.size() ? bytes_[place] : 0;
  }
  void* local() const { return local_; }

 private:
  std::size_t place_of(Rank rank) const {
    // −1 is beyond every place.
    return static_cast<std::size_t>(counts_through_ ? static_cast<int>(rank) : group_.index_of(rank));
  }
  static bool counts_through(std::span<const Rank> members) {
    return !members.empty() && index(members.back()) + 1 == members.size();
  }

  Group group_;
  bool counts_through_ = false;  ///< members are 0, 1, 2, …: a member's place is its number
  std::vector<void*> addresses_;
  std::vector<std::size_t> bytes_;
  void* local_ = nullptr;
};

namespace rma {
class Rma;
}

class GRAPNEL_API Runtime {
 public:
  /// Joins the job that a launcher started (or makes a job of one rank) and reads the GRAPNEL_ variables. Collective.
  static Result<std::unique_ptr<Runtime>> start();
  /// Ends without the others when `finish` was not called: they take it for this rank's death.
  ~Runtime();
  /// Collective: completes what was not waited for (operations kept by aggregate handles are dropped, with a warning),
  /// a barrier, then leaves the job. Nothing but the destructor may be called afterwards.
  Status finish();
  /// Ends the whole job with `why` as its message.
  [[noreturn]] void abort(int exit_code, const std::string& why);

  // --- ranks and nodes ---
  Rank rank() const;
  int size() const;
  NodeId node() const { return node_of(rank()); }
  /// A rank outside the job ends the process with a message, here and in `same_node`.
  NodeId node_of(Rank rank) const;
  int node_count() const;
  bool same_node(Rank rank) const { return node_of(rank) == node(); }

  // --- groups ---
  /// The group of these ranks, in any order. Local: no communication. Errors: invalid_argument (the caller is not among
  /// them, a rank appears twice or is outside the job).
  Result<Group> make_group(std::span<const Rank> members) const;
  /// All ranks.
  Group world() const;
  /// Collective over the group, of which the caller is a member: the `mine` of all members, by their places. For small
  /// values of any length; 2 hops in a node and ⌈log2 nodes⌉ between nodes. Errors: invalid_argument, peer_dead.
  Result<std::vector<Bytes>> allgather(const Group& group, ByteView mine);

  // --- memory: an address may be used by every rank, members or not, until it is freed ---
  /// Collective: `bytes` (may be 0 and may differ) of zeroed memory, in the same domain for all members. Errors, on all
  /// of them, with nothing taken: no_memory; unavailable: no network domain here (the message names what is missing).
  Result<Memory> allocate(std::size_t bytes, AtomicDomain domain = AtomicDomain::processor);
  /// Collective: the allocation whose part of the caller is `memory`'s. What other ranks do to it must be over.
  Status free(const Memory& memory);
  /// The same, collective over a group, of which the caller is a member.
  Result<Memory> allocate(const Group& group, std::size_t bytes, AtomicDomain domain = AtomicDomain::processor);
  Status free(const Group& group, const Memory& memory);

  // --- contiguous. Between nodes: one message per 64 KiB, one round trip for a get; from 256 KiB (GRAPNEL_BULK_BYTES)
  // puts and gets are one message whose data is not copied, after a round trip ---
  Status put(const void* source, void* remote, std::size_t bytes, Rank target);
  Status get(const void* remote, void* destination, std::size_t bytes, Rank target);
  /// remote[i] += *scale · source[i]; `bytes` is a multiple of the element. `scale` null: 1.
  Status accumulate(ElementType type, const void* scale, const void* source, void* remote, std::size_t bytes,
                    Rank target);

  // --- strided: equal counts on both sides, strides of their own; ⌈bytes/64 KiB⌉ messages between nodes ---
  Status put(const void* source, const Strided& source_shape, void* remote, const Strided& remote_shape, Rank target);
  Status get(const void* remote, const Strided& remote_shape, void* destination, const Strided& destination_shape,
             Rank target);
  Status accumulate(ElementType type, const void* scale, const void* source, const Strided& source_shape, void* remote,
                    const Strided& remote_shape, Rank target);

  // --- vector: pieces in any order, in any allocations of the target; where they overlap, any of them may be the last.
  // ⌈bytes/64 KiB⌉ messages between nodes, which carry the pieces' addresses, too; a get waits one round trip ---
  Status put(std::span<const Piece> pieces, Rank target);
  Status get(std::span<const Piece> pieces, Rank target);
  Status accumulate(ElementType type, const void* scale, std::span<const Piece> pieces, Rank target);

  // --- nonblocking: start, then wait. Handle null: joins the implicit ones. Local memory is left alone until then ---
  Status start_put(const void* source, void* remote, std::size_t bytes, Rank target, Handle* handle = nullptr);
  Status start_get(const void* remote, void* destination, std::size_t bytes, Rank target, Handle* handle = nullptr);
  Status start_accumulate(ElementType type, const void* scale, const void* source, void* remote, std::size_t bytes,
                          Rank target, Handle* handle = nullptr);
  Status start_put(const void* source, const Strided& source_shape, void* remote, const Strided& remote_shape,
                   Rank target, Handle* handle = nullptr);
  Status start_get(const void* remote, const Strided& remote_shape, void* destination, const Strided& destination_shape,
                   Rank target, Handle* handle = nullptr);
  Status start_accumulate(ElementType type, const void* scale, const void* source, const Strided& source_shape,
                          void* remote, const Strided& remote_shape, Rank target, Handle* handle = nullptr);
  Status start_put(std::span<const Piece> pieces, Rank target, Handle* handle = nullptr);
  Status start_get(std::span<const Piece> pieces, Rank target, Handle* handle = nullptr);
  Status start_accumulate(ElementType type, const void* scale, std::span<const Piece> pieces, Rank target,
                          Handle* handle = nullptr);
  /// Sources may be reused and gets have their data, for all that joined the handle.
  Status wait(Handle& handle);
  /// True: as after `wait`, and the handle is as new. Never sleeps. An aggregate handle is sent by its first test.
  Result<bool> test(Handle& handle);
  /// All implicit operations; those to one target. Explicit handles are waited for by themselves.
  Status wait_implicit();
  Status wait_implicit(Rank target);

  // --- atomics on a word aligned to its width; the old value. 32-bit values are sign-extended. Complete on return,
  // behind the caller's earlier operations on the same word. Between nodes one round trip; same node: an instruction. A
  // word of the network domain: a round trip to its adapter, also in the same node; a swap is made of compare-and-swaps
  // where the adapter has none. Errors: invalid_argument (not aligned, outside every segment, 32 bits in the network
  // domain), refused, peer_dead ---
  Result<std::int64_t> fetch_and_add(void* remote, std::int64_t increment, Width width, Rank target);
  Result<std::int64_t> swap(void* remote, std::int64_t value, Width width, Rank target);
  Result<std::int64_t> compare_and_swap(void* remote, std::int64_t expected, std::int64_t desired, Width width,
                                        Rank target);

  // --- updates: an operation on each element of the target (grapnel/reduction.hpp), atomic for each element against
  // other updates and accumulates of any type, not against the atomics above. Between nodes as accumulate and get.
  // Errors: invalid_argument (no such operation for the type; outside every segment), refused, peer_dead ---
  /// remote[i] = remote[i] ∘ source[i]. Completes as an accumulate. `none` changes nothing and sends nothing.
  Status update(Operation operation, NumberType type, const void* source, void* remote, std::size_t count, Rank target);
  /// The same, and `old_elements` are what it found. With `none` (`source` is not read) an atomic get of each element.
  /// Complete at the target on return.
  Status fetch_and_update(Operation operation, NumberType type, const void* source, void* old_elements, void* remote,
                          std::size_t count, Rank target);
  Status start_update(Operation operation, NumberType type, const void* source, void* remote, std::size_t count,
                      Rank target, Handle* handle = nullptr);
  Status start_fetch_and_update(Operation operation, NumberType type, const void* source, void* old_elements,
                                void* remote, std::size_t count, Rank target, Handle* handle = nullptr);
  /// Replaces 1, 2, 4 or 8 bytes where they equal the first ones of `expected`; the old ones are put at `old_value`.
  /// The address needs no alignment. Complete on return.
  Status compare_and_update(const void* expected, const void* desired, void* old_value, void* remote, std::size_t bytes,
                            Rank target);

  // --- completion at the target ---
  /// On return the caller's puts and accumulates to `target` that were complete here are applied there; on its node,
  /// what it stored is seen before it loads or stores anything after. One round trip to a node that has not
  /// acknowledged them yet, else no message. Errors: invalid_argument (a rank outside the job), refused (the target's
  /// server declined one of them; answered once), peer_dead.
  Status fence(Rank target);
  /// To several: the round trips of GRAPNEL_FENCE_WINDOW nodes at a time overlap.
  Status fence(std::span<const Rank> targets);
  /// To all members.
  Status fence(const Group& group);
  Status fence_all();
  // GRAPNEL_FENCE, GRAPNEL_FENCE_WINDOW, GRAPNEL_BARRIER and GRAPNEL_BARRIER_FANOUT choose how; `start` reads them.
  /// Collective: fence_all of all ranks, and all have arrived; in fewer messages than the two (docs/barrier.md).
  Status barrier();
  /// The same in two steps, to compute in between; the others do not wait for it. What is written in between
  /// belongs to the next barrier. Errors of all: invalid_argument (begun already; not begun), refused, peer_dead.
  Status begin_barrier();
  /// True: the barrier is over, and `end_barrier` must not be called. Never sleeps.
  Result<bool> test_barrier();
  Status end_barrier();
  /// The same, collective over a group, of which the caller is a member: the members' writes to anybody are complete.
  /// Barriers of several groups may be under way at once. unavailable: 4,096 groups have barriers on this node.
  Status barrier(const Group& group);
  Status begin_barrier(const Group& group);
  Result<bool> test_barrier(const Group& group);
  Status end_barrier(const Group& group);
  /// Collective: a function by which barriers join payloads (grapnel/barrier.hpp), the same in all ranks. A barrier of
  /// all ranks. unavailable, on all ranks: there are kMostCombines of them.
  Result<CombineId> add_combine(Combine combine);
  /// A barrier, to which every member brings a payload of its own length (none counts as nothing brought): what all of
  /// them join to. Errors: as `barrier`; invalid_argument (a function that was not added; a payload, or what this
  /// node's make together, over kMostBarrierPayload), unavailable: 64 groups of this node have payloads.
  Result<Bytes> barrier_with(CombineId combine, ByteView payload);
  Result<Bytes> barrier_with(const Group& group, CombineId combine, ByteView payload);
  /// The same in two steps; after `test_barrier` or `end_barrier`, `joined` has the result until the next begin.
  Status begin_barrier_with(const Group& group, CombineId combine, ByteView payload);
  Bytes joined(const Group& group) const;
  /// The group needs its barrier and its collectives no more; every member calls it. It waits for others of the node
  /// only until they have taken what this rank gave them in a collective. The group may be used again.
  Status release(const Group& group);

  // --- collectives of all ranks, or of a group of which the caller is a member (docs/collective.md). On return the
  // caller's buffers may be reused and its result is there; no write is completed by them, and a rank may return before
  // others have come. Calls of one group are matched by their order; where members call different ones, the job ends
  // with a message that names both. Results have the same bits each time (grapnel/reduction.hpp). Between nodes
  // ⌈log2 nodes⌉ messages per node for little data. A rank that gives another one long data (from
  // GRAPNEL_COLLECTIVE_LONG_BYTES on) waits until that one has come to the call. Errors of all: invalid_argument
  // (nothing was sent), unavailable (2,048 groups have collectives on this node), no_memory (for long data to arrive
  // in; the others wait for this rank), peer_dead ---
  /// `data` of the root to the `data` of all.
  Status broadcast(void* data, std::size_t bytes, Rank root);
  Status broadcast(const Group& group, void* data, std::size_t bytes, Rank root);
  /// `count` elements of each, joined element by element at `destination` of the root, which may be `source`. Elsewhere
  /// `destination` is not touched, and may be null.
  Status reduce(const Reduction& reduction, const void* source, void* destination, std::size_t count, Rank root);
  Status reduce(const Group& group, const Reduction& reduction, const void* source, void* destination,
                std::size_t count, Rank root);
  /// The same, at `destination` of all.
  Status allreduce(const Reduction& reduction, const void* source, void* destination, std::size_t count);
  Status allreduce(const Group& group, const Reduction& reduction, const void* source, void* destination,
                   std::size_t count);
  /// `bytes` of each, one after the other by rank, at `destination` of all. `source` may be the caller's place there.
  Status allgather(const void* source, void* destination, std::size_t bytes);
  Status allgather(const Group& group, const void* source, void* destination, std::size_t bytes);
  /// The i-th piece of `source` goes to member i, and from it comes the i-th piece of `destination`. Pieces lie one
  /// after the other, all of `bytes`, or of the lengths given by member; a rank sends another as much as that one
  /// expects. One message to each member, and one for each further 4 KiB of what is not long.
  Status alltoall(const void* source, void* destination, std::size_t bytes);
  Status alltoall(const Group& group, const void* source, void* destination, std::size_t bytes);
  Status alltoall(const Group& group, const void* source, std::span<const std::size_t> send_bytes, void* destination,
                  std::span<const std::size_t> receive_bytes);

  // --- collectives in two steps: start, compute, then wait (grapnel/pending_collective.hpp). Any number may be under
  // way, of one group or of several; all members of a group start its calls, blocking ones included, in the same order,
  // and wait for them in any. `source` is copied and may be reused on return; the result is written to `data` or
  // `destination` by the handle's `test` or `wait`. Results have the bits of the blocking calls. Errors: as there ---
  Result<PendingCollective> start_broadcast(void* data, std::size_t bytes, Rank root);
  Result<PendingCollective> start_broadcast(const Group& group, void* data, std::size_t bytes, Rank root);
  Result<PendingCollective> start_reduce(const Reduction& reduction, const void* source, void* destination,
                                         std::size_t count, Rank root);
  Result<PendingCollective> start_reduce(const Group& group, const Reduction& reduction, const void* source,
                                         void* destination, std::size_t count, Rank root);
  Result<PendingCollective> start_allreduce(const Reduction& reduction, const void* source, void* destination,
                                            std::size_t count);
  Result<PendingCollective> start_allreduce(const Group& group, const Reduction& reduction, const void* source,
                                            void* destination, std::size_t count);
  Result<PendingCollective> start_allgather(const void* source, void* destination, std::size_t bytes);
  Result<PendingCollective> start_allgather(const Group& group, const void* source, void* destination,
                                            std::size_t bytes);
  Result<PendingCollective> start_alltoall(const void* source, void* destination, std::size_t bytes);
  Result<PendingCollective> start_alltoall(const Group& group, const void* source, void* destination,
                                           std::size_t bytes);
  Result<PendingCollective> start_alltoall(const Group& group, const void* source,
                                           std::span<const std::size_t> send_bytes, void* destination,
                                           std::span<const std::size_t> receive_bytes);

  // --- signals: the target sees them when the data is there ---
  /// A put, after which the 32-bit word at `remote_flag` (aligned, of the same target) is set to `value`: a rank that
  /// reads the value there (acquire) finds the data complete. Completion as of a put. Between nodes: ⌈bytes/64 KiB⌉
  /// messages and no round trip; of contiguous data from 320 KiB all but the last 64 KiB is sent in bulk, which is a
  /// round trip.
  Status put_and_signal(const void* source, void* remote, std::size_t bytes, void* remote_flag, std::int32_t value,
                        Rank target);
  Status put_and_signal(const void* source, const Strided& source_shape, void* remote, const Strided& remote_shape,
                        void* remote_flag, std::int32_t value, Rank target);
  /// Notifies `target` that the caller's puts and accumulates to it that are complete here are complete there.
  Status notify(Rank target);
  /// Waits for one more notification of `from` than was taken so far. How many it has sent, as far as is seen (the
  /// count wraps around). Errors: invalid_argument, peer_dead.
  Result<std::uint32_t> wait_notify(Rank from);

  // --- locks (grapnel/lock_set.hpp has the whole interface; docs/locks.md compares the kinds) ---
  /// Collective over the group (of all ranks where none is named): `count` locks at home in every member; count, kind,
  /// payload_bytes and lines the same in all members, which alone use the set. Memory, taken here and given back when
  /// the set is destroyed: in each node whole pages of 4 KiB for what docs/locks.md lists, some hundred bytes per rank
  /// for one lock per member of a small group. Cost: five exchanges of the group. Errors, at all members:
  /// invalid_argument (also where they differ), no_memory.
  Result<LockSet> create_lock_set(int count, const LockOptions& options = {});
  Result<LockSet> create_lock_set(const Group& group, int count, const LockOptions& options = {});
  /// Collective over the group that made it: gives the set back. invalid_argument, at all members, while a rank holds
  /// or has asked for one of its locks.
  Status destroy_lock_set(const LockSet& set);

  /// The same for the one set that belongs to the runtime; the calls below are about its locks. One at a time.
  Status create_locks(int count, const LockOptions& options = {});
  Status destroy_locks();
  /// That set; empty where there is none.
  LockSet locks() const;
  /// Waits for its turn; not re-entrant. Implies no fence. Errors: invalid_argument (bad index, held by the caller).
  Status lock(int lock_index, Rank home);
  Status unlock(int lock_index, Rank home);

  // --- the shared heap (grapnel/shared_heap.hpp, docs/dsm.md) ---
  /// Collective over all ranks, once: memory at one address in all of them, for plain loads and stores. Takes no memory
  /// for pages that no rank uses; some 70 bytes a page for the others' sake. Errors, at all ranks: invalid_argument
  /// (open already; options that differ), unavailable, no_memory.
  Result<SharedHeap> open_shared_heap(const SharedHeapOptions& options = {});

  /// Operations, bytes and messages of this rank so far.
  std::vector<OperationCount> operation_counts() const;

  /// For the library's own layers and their tests: what is inside (src/runtime). A program has no use for it.
  class Implementation;
  explicit Runtime(std::unique_ptr<Implementation> implementation);
  Implementation& implementation() { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
  rma::Rma* rma_;  ///< of `implementation_`: one load less before each operation
};

}  // namespace grapnel
