// A mailbox on Unix stream sockets between processes of one machine.
//
// Threads: one at a time, except `doze` and `wake`.
// Invariants:
// (1) Completions, landings and failures are collected, and reported at the end of `progress`, never from within a
//     send.
// (2) Where nothing waits to leave on a connection, a message is written into its socket at once, by one system call
//     and without an allocation.
// (3) What arrives is read into one buffer of the worker and handed on from there; a frame that is not whole is kept by
//     its connection, and the next read continues there. A bulk payload is read into its place.
// (4) A frame that is not allowed ends its connection with a logged sentence, and nothing else.
// (5) The event descriptor of `wake` is read only where `woken_` is false: the flag is the truth, the descriptor ends
//     the sleep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "transport/local/local_connection.hpp"
#include "transport/local/local_door.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport::local {

class LocalWorker final : public Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(std::uint64_t secret, MessageSink& sink);
  /// Gives what is under way 200 ms to leave; what remains then ends with peer_dead. The sink is not called any more.
  ~LocalWorker() override;

  Bytes address() const override;
  Result<EndpointId> connect(ByteView address) override;
  Result<Sent> send(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) override;
  void receive(BulkHandle bulk, ByteSpan place, Completion landed) override;
  void decline(BulkHandle bulk) override;
  Result<Sent> put(EndpointId, ByteView, std::uintptr_t, const RemoteKey&, Completion) override;
  Result<Sent> get(EndpointId, ByteSpan, std::uintptr_t, const RemoteKey&, Completion) override;
  Result<std::unique_ptr<RemoteKey>> import_key(EndpointId, ByteView) override;
  Result<Sent> flush(EndpointId endpoint, Completion completion) override;
  bool progress() override;
  void sleep(std::uint64_t timeout_ns) override;
  bool arm() override;
  void doze(std::uint64_t timeout_ns) override;
  void lend() override;
  void take_back() override;
  void wake() override;
  std::size_t endpoint_count() const override { return endpoints_.size(); }

 private:
  static constexpr std::size_t kReadBytes = 128 * base::kKiB;  ///< of the receive buffer

  LocalWorker(std::uint64_t secret, MessageSink& sink);

  // Events, sleep, end: local_worker.cpp
  Status open();
  bool handle(const epoll_event& event);
  void handle_wake();
  void tend();
  bool tell_what_ended();
  void show_to_dozer(std::uint32_t events);
  void sleep_on(int descriptor, std::uint64_t timeout_ns) const;
  void drain(std::uint64_t limit_ns);

  // Connections: local_connect.cpp
  Connection& add(os::Descriptor socket);
  void admit(os::Descriptor socket);
  bool watch(Connection& connection, std::uint32_t events, int operation);
  void try_to_connect(Connection& connection);
  void fail(Connection& connection, Status why);
  void end(Connection& connection);

  // What leaves: local_send.cpp
  Connection& connection(EndpointId id);
  Result<Sent> send_on(Connection& connection, ByteView header, ByteView payload, Completion completion,
                       std::size_t most_whole_bytes);
  Result<Sent> start(Connection& connection, const FrameHead& head, ByteView header, ByteView payload,
                     Completion completion);
  void queue(Connection& connection, ByteView front, FrameKind kind, std::uint32_t number, ByteView payload,
             Completion completion, std::size_t sent);
  void watch_for_room(Connection& connection);
  void queue_chunk(Connection& connection);
  void move_out(Connection& connection);
  bool send_some(Connection& connection);
  void left(Connection& connection, OutgoingFrame& frame);
  void end_flushes(Connection& connection);
  void ended(Completion completion, Status outcome);
  void bulk_requested(Connection& connection, std::uint32_t number);
  void bulk_declined(Connection& connection, std::uint32_t number);

  // What arrives: local_receive.cpp
  bool read(Connection& connection);
  void take(Connection& connection, ByteView bytes);
  ByteView take_chunk(Connection& connection, ByteView bytes);
  ByteView take_partial(Connection& connection, ByteView bytes);
  ByteView take_frames(Connection& connection, ByteView bytes);
  void take_into_place(Connection& connection, std::size_t bytes);
  void begin_chunk(Connection& connection, const FrameHead& head);
  void deliver(Connection& connection, const FrameHead& head, ByteView header, ByteView payload);
  void announce(Connection& connection, const FrameHead& head, ByteView header);
  void wrong(Connection& connection, const char* what);

  MessageSink& sink_;
  const std::uint64_t secret_;
  os::Descriptor epoll_, wake_;
  os::Descriptor dozer_;  ///< an epoll descriptor that looks at epoll_, but not while the worker is lent
  mutable Door door_;
  std::atomic<bool> woken_{false};          ///< set by `wake`, cleared by `arm`
  std::atomic<bool> has_deadlines_{false};  ///< a sleep must be short
  bool progressing_ = false;
  bool closing_ = false;

  std::vector<std::unique_ptr<Connection>> connections_;  ///< by index
  std::vector<Connection*> endpoints_;                    ///< by EndpointId
  std::size_t connecting_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  ArrivalPool<Arrival> arrivals_;

  struct Ended {
    Completion completion;
    Status outcome;
  };
  std::vector<Ended> ended_, telling_;
  std::vector<Arrival*> landed_;
  std::vector<Connection*> ending_;
};

}  // namespace grapnel::transport::local
