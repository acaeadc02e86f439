// One-sided operations of one rank: by load and store inside the node, by messages to the node's server elsewhere.
//
//   put(target)  ── target on my node ──▶ bounds (one load) ─▶ copy       no lock, no message, no virtual call
//                └─ elsewhere ─────────▶ RemotePath ─▶ client ─▶ the node's server ─▶ copy there
//
// What is complete on return, and the order of operations: include/grapnel/runtime.hpp.
// Threads: any; the shared-memory path takes no lock but the stripes of an accumulate.
// Cost: same node: a copy and a few ns. Other node: ⌈bytes/chunk⌉ messages; a get or an atomic waits one round trip.
// Source: armci-multiprotocol, section 2, figures 1 and 2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "core/network_words.hpp"
#include "grapnel/element.hpp"
#include "grapnel/handle.hpp"
#include "grapnel/shape.hpp"
#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/waiting.hpp"
#include "rma/counts.hpp"
#include "rma/internal/accumulation.hpp"
#include "rma/internal/fences.hpp"
#include "rma/internal/lent_memory.hpp"
#include "rma/internal/native.hpp"
#include "rma/internal/operation.hpp"
#include "rma/internal/remote.hpp"
#include "rma/internal/word.hpp"
#include "rma/kernels/copy.hpp"
#include "rma/messages.hpp"
#include "rma/parts.hpp"
#include "rma/settings.hpp"
#include "rma/stripes.hpp"
#include "rma/transfers.hpp"
#include "rma/ways.hpp"
#include "segment/segment.hpp"

namespace grapnel::rma {

class Rma {
 public:
  /// `client` and `transport` are null in a job of one node.
  Rma(const base::Config& config, launch::Launch& launch, progress::Waiting& waiting, segment::SegmentTable& segments,
      Stripes& stripes, segment::Lent& lent, progress::Client* client, const transport::Transport* transport,
      core::NetworkWords& words);

  /// From now on a local buffer of a transfer between nodes that lies in [begin, end) is an invalid argument: an access
  /// there may need the client itself.
  void keep_out(std::uintptr_t begin, std::uintptr_t end) {
    kept_out_begin_ = begin;
    kept_out_end_ = end;
  }
  /// Whether some of [local, local+bytes) is kept out.
  bool keeps_out(const void* local, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(local);
    return begin < kept_out_end_ && begin + bytes > kept_out_begin_;
  }

  /// True: the memory is in reach, and the put is complete; a started one, too, whose handle then has no part in it.
  /// False: nothing was done.
  bool put_here(const void* source, void* remote, std::size_t bytes, Rank target) {
    if (!in_reach(remote, bytes, target)) [[unlikely]]
      return false;
    count_shared(OperationKind::put, bytes);  // before: afterwards its loads would wait behind the copy's stores
    rma::copy(remote, source, bytes);
    return true;
  }
  /// Likewise.
  bool get_here(const void* remote, void* destination, std::size_t bytes, Rank target) {
    if (!in_reach(remote, bytes, target)) [[unlikely]]
      return false;
    count_shared(OperationKind::get, bytes);
    rma::copy(destination, remote, bytes);
    return true;
  }

  Status put(const void* source, void* remote, std::size_t bytes, Rank target) {
    if (put_here(source, remote, bytes, target)) [[likely]]
      return {};
    return put_elsewhere(source, remote, bytes, target);
  }

  Status get(const void* remote, void* destination, std::size_t bytes, Rank target) {
    if (get_here(remote, destination, bytes, target)) [[likely]]
      return {};
    return get_elsewhere(remote, destination, bytes, target);
  }

  Status accumulate(ElementType type, const void* scale, const void* source, void* remote, std::size_t bytes,
                    Rank target) {
    const bool sound = is_element_type(static_cast<int>(type)) && holds_whole_elements(type, bytes);
    if (sound && may_update_here(remote, bytes, target)) [[likely]] {
      count_shared(OperationKind::accumulate, bytes);
      StripeHolder holder(waiting_, stripes_, stripes_.rank_mark());
      return accumulate_waiting(holder, type, scale != nullptr ? scale : one_as_bytes(type),
                                static_cast<std::byte*>(remote), static_cast<const std::byte*>(source), bytes);
    }
    return accumulate_elsewhere(type, scale, source, remote, bytes, target);
  }

  /// Errors: invalid_argument (no such operation for the type, no operands, too many).
  static Result<UpdateTransfer> update_transfer(grapnel::Operation operation, NumberType number, const void* source,
                                                void* old_elements, void* remote, std::size_t count, Rank target);
  Status transfer(const UpdateTransfer& what);
  Status start(const UpdateTransfer& what, Handle* handle);
  Status transfer(const StridedUpdate& what);
  Status transfer(const VectorUpdate& what);
  Status start(const StridedUpdate& what, Handle* handle);
  Status start(const VectorUpdate& what, Handle* handle);
  Status transfer(const CompareTransfer& what);
  Status start(const CompareTransfer& what, Handle* handle);
  /// The old value, in front of zeros.
  Result<std::uint64_t> compare(void* remote, std::uint64_t expected, std::uint64_t desired, std::size_t bytes,
                                Rank target, bool lent = false);

  /// Whether lent memory of that node's ranks can be reached: ok, or unavailable with the reason; the same answer in
  /// every rank. Waits until the node's ranks have started. Cost: a round trip, own node: none. Errors:
  /// invalid_argument (no such node), peer_dead.
  Status copies_work(NodeId node);

  Status transfer(const ContiguousTransfer& what);
  Status transfer(const StridedTransfer& what);
  Status transfer(const VectorTransfer& what);

  /// True: the put or get is complete. False: nothing was done, and `transfer` takes it or answers what is wrong.
  bool move_rows(OperationKind kind, void* local, void* remote, const Rows& rows, Rank target) {
    if (!rows.are_plain() || !in_reach(remote, rows.remote_extent(), target)) return false;
    count_shared(kind, rows.total_bytes());
    const auto bytes = static_cast<std::size_t>(rows.bytes), count = static_cast<std::size_t>(rows.count);
    if (kind == OperationKind::put) {
      copy_rows(remote, rows.remote_stride, local, rows.local_stride, bytes, count);
    } else {
      copy_rows(local, rows.local_stride, remote, rows.remote_stride, bytes, count);
    }
    return true;
  }

  /// Puts `source` to memory of a segment that `target` itself has named to the caller, for this put alone. On return
  /// `source` may be reused, and messages that are sent to `target` later are behind the data; native operations are
  /// not. A write: fences and barriers complete it. The counts of the program's puts are without it. `look` is called
  /// at each look of a wait. The number of messages sent.
  /// Cost: own node: a copy. Else ⌈bytes/chunk⌉ messages, or one in bulk; no round trip but bulk's.
  /// Errors: invalid_argument (`keeps_out` holds for the source, and it goes to another node), peer_dead.
  Result<std::uint64_t> put_to_named(ByteView source, std::byte* remote, Rank target,
                                     const std::function<void()>& look);

  Status put_and_signal(const SignalledPut& what);
  Status put_and_signal(const void* source, void* remote, std::size_t bytes, void* flag, std::int32_t value,
                        Rank target) {
    if (is_aligned_flag(flag) && in_reach(remote, bytes, target) && in_reach(flag, sizeof value, target)) [[likely]] {
      count_shared(OperationKind::put, bytes);
      rma::copy(remote, source, bytes);
      set_signal(flag, value);
      return {};
    }
    return put_and_signal_elsewhere(source, remote, bytes, flag, value, target);
  }

  /// Nonblocking: joins `handle`, or the target's implicit operation where it is null.
  Status start(const ContiguousTransfer& what, Handle* handle);
  Status start(const StridedTransfer& what, Handle* handle);
  Status start(const VectorTransfer& what, Handle* handle);
  /// Puts a value of 8 bytes at most, which need not live on. An aggregate handle keeps a copy and sends it with the
  /// others; else it has left on return, as by `put`.
  Status start_value(const void* value, std::size_t bytes, void* remote, Rank target, Handle* handle);
  Status wait(Handle& handle);
  Result<bool> test(Handle& handle);
  /// How many puts and gets aggregate handles keep that were not waited for.
  std::size_t kept() const { return handles_.kept(); }
  Status wait_implicit();
  Status wait_implicit(Rank target);
  /// Waits for all that was started and not waited for, explicit or implicit. The first failure.
  Status wait_all();

  Result<std::int64_t> rmw(RmwOperation operation, void* remote, std::int64_t operand, std::int64_t expected,
                           Width width, Rank target) {
    // A shift: of a choice between 4 and 8 the compiler would compute the mask once more. A mask: it does not see that
    // bytes is a power of two, and would divide.
    static_assert(static_cast<int>(Width::bits32) == 0 && static_cast<int>(Width::bits64) == 1);
    const std::size_t bytes = std::size_t{4} << static_cast<unsigned>(width);
    const bool aligned = (reinterpret_cast<std::uintptr_t>(remote) & (bytes - 1)) == 0;
    if (aligned && may_update_here(remote, bytes, target)) [[likely]] {
      count_shared(OperationKind::rmw, bytes);
      return apply_rmw(operation, remote, bytes, operand, expected);
    }
    return rmw_elsewhere(operation, remote, operand, expected, width, target);
  }

  /// The caller's puts and accumulates to the nodes of these ranks are complete there.
  Status fence(std::span<const Rank> targets);
  Status fence_all();

  /// Arriving at a barrier that completes the counted writes to the nodes where `covered` is set (by node): afterwards
  /// everything else is complete (native puts, writes elsewhere, writes made while another barrier was under way), and
  /// the covered ones have left this process. With `fences` they are complete, too, in the way of `kind`.
  /// Writes are not counted until `after_barrier`. Errors: refused (it took place), peer_dead.
  Status before_barrier(const std::vector<std::uint8_t>& covered, bool fences, FenceKind kind, BarrierCut& cut);
  /// Leaving it. `ask`: a write of some rank was refused, so each rank asks whether it was one of its own.
  /// Errors: refused, peer_dead.
  Status after_barrier(const BarrierCut& cut, bool ask);

  /// What a message to the node that is sent next must come behind is at the target: native puts are flushed. With the
  /// client's guard held; no round trip where nothing is unflushed.
  Status before_messages(NodeId node);

  /// Memory of the group was allocated in the network domain: opens the ways to it (NetworkWords::open).
  Status open_network(const launch::Group& group) { return words_.open(group); }

  /// Segments are about to be freed: every key is dropped, and imported again where it is still needed.
  void forget_remote_keys();

  const OperationCounts& counts(OperationKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  const FenceCounts& fence_counts() const { return fences_.counts(); }

  /// Whether [remote, remote+bytes) lies in a segment of `target`'s node. Cost: none where the rank is of this node or
  /// this rank took part in the allocation; else a round trip. Errors: invalid_argument, peer_dead.
  Status check_place(const void* remote, std::size_t bytes, Rank target, const char* what) const {
    return route(remote, bytes, target, what).status();
  }

  /// The arithmetic of an accumulate; `scale` null: 1. Errors: `bytes` is no multiple of the element.
  static Result<Arithmetic> arithmetic(ElementType type, const void* scale, std::size_t bytes);

 private:
  bool is_local(Rank target) const {
    return static_cast<std::size_t>(target) < local_.size() && local_[static_cast<std::size_t>(target)] != 0;
  }
  bool in_reach(const void* remote, std::size_t bytes, Rank target) const {
    return is_local(target) && reach_.contains(remote, bytes);
  }
  /// In reach, and in the processor's domain.
  bool may_update_here(const void* remote, std::size_t bytes, Rank target) const {
    return is_local(target) && reach_.contains_for_updates(remote, bytes);
  }
  static bool is_aligned_flag(const void* flag) {
    return reinterpret_cast<std::uintptr_t>(flag) % sizeof(std::int32_t) == 0;
  }
  void count_shared(OperationKind kind, std::size_t bytes) {
    OperationCounts& counts = counts_[static_cast<std::size_t>(kind)];
    counts.shared_operations.add(1);
    counts.shared_bytes.add(bytes);
  }
  void count_wire(OperationKind kind, std::size_t bytes, std::uint64_t messages_before);
  template <typename Transfer>
  Status check_local(const Transfer& what) const;

  Status accumulate_elsewhere(ElementType type, const void* scale, const void* source, void* remote, std::size_t bytes,
                              Rank target);
  Result<std::int64_t> rmw_elsewhere(RmwOperation operation, void* remote, std::int64_t operand, std::int64_t expected,
                                     Width width, Rank target);
  Result<std::int64_t> rmw_by_adapter(RmwOperation operation, void* remote, std::int64_t operand, std::int64_t expected,
                                      Width width, Rank target);
  /// Errors: invalid_argument: the memory is in the network domain, where `what` would mix.
  Status check_domain(const void* remote, Rank target, const char* what) const;
  bool is_network(const void* remote, Rank target) const;
  Status send_to_named(const ContiguousTransfer& what, Operation& operation, const std::function<void()>& look);
  Status put_elsewhere(const void* source, void* remote, std::size_t bytes, Rank target);
  Status get_elsewhere(const void* remote, void* destination, std::size_t bytes, Rank target);
  Status put_and_signal_elsewhere(const void* source, void* remote, std::size_t bytes, void* flag, std::int32_t value,
                                  Rank target);

  Status check_target(Rank target, const char* what) const;
  // The place of a transfer; errors name the argument that cannot be used.
  enum class Route { nothing, shared, wire };
  Result<Route> route(const ContiguousTransfer& what) const;
  Result<Route> route(const StridedTransfer& what) const;
  Result<Route> route(const VectorTransfer& what) const;
  Result<Route> route(const SignalledPut& what) const;
  Result<Route> route(const UpdateTransfer& what) const;
  Result<Route> route(const CompareTransfer& what) const;
  Result<Route> route(const PartsTransfer& what) const;
  Status check_lent(const PartsTransfer& what) const;
  Result<Route> route(const void* remote, std::size_t bytes, Rank target, const char* what) const;
  /// A part of another node's segment that its server named.
  struct Located {
    std::uint64_t begin = 0, end = 0;
  };
  Result<Route> route(const void* remote, std::size_t bytes, Rank target, const char* what, Located& located) const;
  Result<bool> lies_in_segment(NodeId node, std::uint64_t address, std::size_t bytes, Located& located) const;

  bool by_rows(const StridedTransfer& what);
  Status by_shared_memory(const ContiguousTransfer& what);
  Status by_shared_memory(const StridedTransfer& what);
  Status by_shared_memory(const VectorTransfer& what);
  Status by_shared_memory(const SignalledPut& what);
  Status by_shared_memory(const UpdateTransfer& what);
  Status by_shared_memory(const CompareTransfer& what);
  Status by_shared_memory(const PartsTransfer& what);
  Status update_parts(const PartsTransfer& what, std::span<const Part> parts, StripeHolder& holder);
  // wire.cpp: by the fabric itself or by messages, in an order that keeps the program's own per location.
  Status by_native(const ContiguousTransfer& what, Operation& operation);
  Status before_native(NodeId node, std::uint64_t address, std::size_t bytes);
  bool goes_native(OperationKind kind, Form form, std::size_t row_bytes, NodeId node, std::uint64_t address,
                   std::size_t bytes) const;
  Status by_wire(const ContiguousTransfer& what, Operation& operation);
  Status by_wire(const StridedTransfer& what, Operation& operation);
  Status by_wire(const VectorTransfer& what, Operation& operation);
  Status by_wire(const SignalledPut& what, Operation& operation);  // signal.cpp
  Status by_wire(const UpdateTransfer& what, Operation& operation);
  Status by_wire(const CompareTransfer& what, Operation& operation);
  Status by_wire(const PartsTransfer& what, Operation& operation);

  // parts.cpp: the parts of a transfer with lent memory, or of an update of a shape. Valid as long as `what`.
  Result<PartsTransfer> parts_of(const ContiguousTransfer& what) const;
  Result<PartsTransfer> parts_of(const StridedTransfer& what) const;
  Result<PartsTransfer> parts_of(const VectorTransfer& what) const;
  Result<PartsTransfer> parts_of(const UpdateTransfer& what) const;
  Result<PartsTransfer> parts_of(const StridedUpdate& what) const;
  Result<PartsTransfer> parts_of(const VectorUpdate& what) const;
  /// As many parts as one batch has.
  std::size_t batch_parts() const { return settings_.chunk_bytes; }

  /// In parts; `blocking` or joining `handle`.
  template <typename Transfer>
  Status run_parts(const Transfer& what, bool blocking, Handle* handle);
  template <typename Transfer>
  Status run_blocking(const Transfer& what);
  template <typename Transfer>
  Status run_started(const Transfer& what, Handle* handle);
  template <typename Transfer>
  Status send_by_wire(const Transfer& what, Operation& operation);
  /// What it keeps of another kind or target is sent first.
  Result<Aggregate*> aggregate_for(Operation& operation, OperationKind kind, Rank target);
  Status send_aggregate(Operation& operation);
  /// Everything of the operation is complete here, and what it sent has left. With the client's guard held.
  Status complete(Operation& operation);
  Status wait_until_left(NodeId node);
  bool has_left(const Operation& operation);

  NodeId node_of(Rank rank) const { return launch_.nodes().node_of[index(rank)]; }
  Status fence_nodes(const std::vector<NodeId>& nodes);

  const Settings settings_;
  launch::Launch& launch_;
  std::uintptr_t kept_out_begin_ = 0, kept_out_end_ = 0;  ///< no local buffers of transfers between nodes
  progress::Waiting& waiting_;
  segment::SegmentTable& segments_;
  const segment::Reach reach_;
  Stripes& stripes_;
  const LentMemory lent_;
  progress::Client* client_;
  core::NetworkWords& words_;
  const Ways ways_;
  std::unique_ptr<RemotePath> remote_;  ///< null in a job of one node
  std::unique_ptr<NativePath> native_;  ///< null where the transport has no native operations
  Fences fences_;
  std::vector<std::uint8_t> local_;  ///< by rank: on my node
  std::array<OperationCounts, kOperationKinds.size()> counts_;
  HandleTable handles_;
  std::vector<Operation> implicit_;  ///< by target rank
};

}  // namespace grapnel::rma
