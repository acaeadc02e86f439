// The contract between nodes: messages to a worker, replies along the way a message came, and, where hardware does
// them, puts, gets and atomics that take no processor at the target.
//
// A Transport (one per rank) makes Workers; a Worker is a mailbox with endpoints to other workers, used by one thread
// at a time. Implementations: `ucx`, `local`, `sim`. One conformance suite (tests/transport) holds for all.
//
// Order: messages of one endpoint arrive in the order sent. Nothing is promised between endpoints, between messages
// and native operations, or among native operations.
//
// Delivery: happens inside `progress` of the receiving worker, by MessageSink. A sink may send, reply, `receive` and
// `decline` from there, but not call `progress`, `connect` or `sleep`.
//
// Bulk: a message with a payload of more than kMaxPayloadBytes is announced, in its place among the messages; the
// payload stays with the sender until the receiver names the memory where it belongs, and moves there without a copy in
// between. It needs both sides' `progress`. Messages behind the announcement do not wait for the payload. Whoever knows
// that the receiver has room may have a payload of up to kMaxWholeBytes delivered whole instead.
//
// Native atomics: atomic against each other, of all workers of the job, and not against the processor's atomics or
// messages: a word is updated by one of them only.
//
// Errors: a peer that is gone fails its endpoint: pending completions get the failure, the sink is called once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::transport {

/// A header travels with every message; it is copied by `send`, so it may live on the caller's stack.
inline constexpr std::size_t kMaxHeaderBytes = 512;
/// Payload of a message that is delivered whole; what is longer is bulk, unless it is sent by `send_whole`.
inline constexpr std::size_t kMaxPayloadBytes = 128 * 1024;
/// Payload of a message that is delivered whole because its sender asks for it.
inline constexpr std::size_t kMaxWholeBytes = 512 * 1024;
/// Payload of one bulk message at most.
inline constexpr std::size_t kMaxBulkBytes = std::size_t{1} << 30;

enum class EndpointId : std::uint32_t {};

/// The way back to the sender of a message. Valid as long as the receiving worker lives, so it may be kept; a reply
/// along the path of a sender that is gone answers peer_dead. `handle` names the connection: it is the same for
/// all messages of one endpoint of the sender, differs from that of every other endpoint, and is never used again for
/// another, also after the sender's death. So a receiver may bind what a sender claims to be to the handle.
struct ReplyPath {
  void* handle = nullptr;
};

/// What arrived; the views end when the sink returns.
struct Message {
  ByteView header;
  ByteView payload;
  ReplyPath reply_path;
};

/// A bulk payload that waits at its sender. Named once, in `receive` or `decline` of the worker whose sink got it, at
/// any time while that worker lives, also when the sender is gone by then.
struct BulkHandle {
  void* handle = nullptr;
};

/// What was announced; the header's view ends when the sink returns.
struct BulkMessage {
  ByteView header;
  std::size_t payload_bytes = 0;
  ReplyPath reply_path;
  BulkHandle bulk;
};

class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void on_message(const Message& message) = 0;
  virtual void on_bulk(const BulkMessage& message) = 0;
  virtual void on_endpoint_failure(EndpointId endpoint, const Status& why) = 0;
};

/// Called once, from the worker's `progress`, when a `pending` operation ends. A null function: not wanted.
struct Completion {
  void (*notify)(void* context, const Status& outcome) = nullptr;
  void* context = nullptr;
};

/// `done`: the payload may be reused and the completion is *not* called. `pending`: it is called later; call
/// `progress`.
enum class Sent { done, pending };

/// A read-modify-write of an aligned 64-bit word by the adapter of the target's node.
struct Atomic {
  enum class Kind { fetch_add, compare_swap, swap };
  Kind kind{};
  std::uint64_t operand = 0;   ///< what is added; the new value
  std::uint64_t expected = 0;  ///< compare_swap: the word is changed only where it has this value
};

/// What a registration is for.
enum class Access {
  copies,   ///< native puts and gets
  atomics,  ///< native atomics, too
};

/// Memory of this process that remote ranks may put to and get from natively.
class RegisteredMemory {
 public:
  virtual ~RegisteredMemory() = default;
  /// What a remote worker needs to reach it; give it to `Worker::import_key`. Never empty.
  virtual Bytes key() const = 0;
};

/// A remote memory as seen from one worker's endpoint.
class RemoteKey {
 public:
  virtual ~RemoteKey() = default;
};

class Worker {
 public:
  virtual ~Worker() = default;

  /// What others need to connect here.
  virtual Bytes address() const = 0;

  /// An endpoint to the worker with that address. The wire-up continues in the background. Errors: system.
  virtual Result<EndpointId> connect(ByteView address) = 0;
  /// Whether the peer has accepted the connection, or the connection has failed. A message may be sent before; it then
  /// waits for the connection, without an end where the peer never answers. A caller that sends only after this is true
  /// can bound that wait, and avoids a state in which UCX 1.13 cannot survive the peer's death (docs/transport.md).
  virtual bool is_connected(EndpointId) const { return true; }

  /// Sends a message; a bulk one where the payload is longer than kMaxPayloadBytes. `payload` stays untouched until
  /// `done` or the completion; a bulk message's completes when all of it has left this process or the receiver has
  /// declined it.
  virtual Result<Sent> send(EndpointId to, ByteView header, ByteView payload, Completion completion) = 0;
  /// Sends a message that is delivered whole, whatever its length up to kMaxWholeBytes: the receiver holds all of it.
  virtual Result<Sent> send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) = 0;
  /// As `send`, along the way a message came.
  virtual Result<Sent> reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) = 0;

  /// Lets a bulk payload land in `place`, which has its length and belongs to the worker until `landed` is called: from
  /// `progress`, once. Landed with an error: any part of it may have been written.
  virtual void receive(BulkHandle bulk, ByteSpan place, Completion landed) = 0;
  /// Does without a bulk payload. Its sender's operation ends well all the same.
  virtual void decline(BulkHandle bulk) = 0;

  /// Native put and get; only where `Capabilities` has it. A put is complete at the target after `flush`.
  virtual Result<Sent> put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                           Completion completion) = 0;
  virtual Result<Sent> get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                           Completion completion) = 0;
  virtual Result<std::unique_ptr<RemoteKey>> import_key(EndpointId endpoint, ByteView key) = 0;

  /// Native atomics; only where `Capabilities` has them, else unavailable. An endpoint is opened for them once, before
  /// keys with Access::atomics are imported: the peer's worker takes part in that, and in no atomic afterwards. At most
  /// one may be pending per endpoint.
  virtual Result<Sent> open_atomics(EndpointId to, Completion completion);
  /// What the word held is at `old_value`, which belongs to the worker until then, at the completion. An atomic that
  /// was accepted is executed without further calls of this process. May make progress while the adapter has no room.
  virtual Result<Sent> atomic(EndpointId to, const Atomic& what, std::uint64_t* old_value,
                              std::uintptr_t remote_address, const RemoteKey& key, Completion completion);

  /// Completes when everything sent on the endpoint, bulk payloads too, has left this process and its native puts are
  /// complete at the target. `done` at once when there is nothing to wait for. At most one may be pending per endpoint.
  virtual Result<Sent> flush(EndpointId endpoint, Completion completion) = 0;

  /// Handles what has arrived and moves what waits to leave. True when anything happened.
  virtual bool progress() = 0;

  /// Sleeps until `progress` has something to do, `wake` is called, or `timeout_ns` has passed. May return early.
  virtual void sleep(std::uint64_t timeout_ns) = 0;

  /// A sleep in two steps, for an owner that lets another thread drive the worker. `arm`: false when there is
  /// something to do at once. `doze`, after `arm`: the sleep itself, as `sleep` without any use of the worker, so that
  /// between `lend` and `take_back` one other thread may do all that the owner may. There what happens need not end the
  /// doze, only the other's sleeps. The owner that takes back has armed the worker before, or wakes it after.
  virtual bool arm() = 0;
  virtual void doze(std::uint64_t timeout_ns) = 0;
  virtual void lend() = 0;
  virtual void take_back() = 0;

  /// Ends a `sleep` or a `doze` of this worker, now or the next one. Any thread.
  virtual void wake() = 0;

  virtual std::size_t endpoint_count() const = 0;
};

/// Which atomics adapters execute.
struct NativeAtomics {
  bool fetch_add = false, compare_swap = false, swap = false;
  /// What the network domain is made of; a swap can be had from compare_swap.
  bool suffice() const { return fetch_add && compare_swap; }
};

/// What the transport does in hardware, between the nodes of this job.
struct Capabilities {
  std::string name;  ///< "ucx (tcp)"
  bool native_put = false;
  bool native_get = false;
  bool detects_dead_peers = false;
  NativeAtomics native_atomics{};
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const Capabilities& capabilities() const = 0;
  /// `sink` outlives the worker. Errors: system.
  virtual Result<std::unique_ptr<Worker>> create_worker(MessageSink& sink) = 0;
  /// Errors: unavailable where there is no such access; no_memory, system.
  virtual Result<std::unique_ptr<RegisteredMemory>> register_memory(ByteSpan memory, Access access) = 0;
};

inline Result<Sent> Worker::open_atomics(EndpointId, Completion) {
  return Status(Code::unavailable, "this transport has no native atomics");
}

inline Result<Sent> Worker::atomic(EndpointId, const Atomic&, std::uint64_t*, std::uintptr_t, const RemoteKey&,
                                   Completion) {
  return Status(Code::unavailable, "this transport has no native atomics");
}

}  // namespace grapnel::transport
