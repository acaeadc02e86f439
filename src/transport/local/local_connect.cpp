// Connections: made by `connect`, admitted by the door, ended by failure.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "os/byte_stream.hpp"
#include "os/clock.hpp"
#include "transport/local/local_events.hpp"
#include "transport/local/local_worker.hpp"

namespace grapnel::transport::local {
namespace {

constexpr std::uint64_t kAddressMagic = 0x6772'6170'6e65'6c61;  // "grapnela"
constexpr std::uint64_t kConnectLimit_ns = 30 * base::kSecond_ns;

}  // namespace

Bytes LocalWorker::address() const {
  base::Encoder encoder;
  encoder.put(kAddressMagic).put_string(std::as_bytes(std::span(door_.name())));
  return encoder.take();
}

Result<EndpointId> LocalWorker::connect(ByteView address) {
  base::Decoder decoder(address);
  const auto magic = decoder.get<std::uint64_t>();
  const auto name = decoder.get_string();
  if (!magic || *magic != kAddressMagic || !name || name->empty()) {
    return Status{Code::system, "an address to connect to is not one of this machine's local transport"};
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto socket, os::create_stream());
  Connection& connection = add(std::move(socket));
  connection.peer_name.assign(reinterpret_cast<const char*>(name->data()), name->size());
  connection.connecting = true;
  ++connecting_;
  connection.connect_until_ns = os::monotonic_ns() + kConnectLimit_ns;
  connection.id = EndpointId{static_cast<std::uint32_t>(endpoints_.size())};
  endpoints_.push_back(&connection);
  const HelloBody hello{.secret = secret_};
  const FrameHead head{.kind = FrameKind::hello, .header_bytes = sizeof hello};
  static_cast<void>(start(connection, head, base::bytes_of(hello), {}, {}));
  has_deadlines_.store(true, std::memory_order_relaxed);
  try_to_connect(connection);
  return *connection.id;
}

Connection& LocalWorker::add(os::Descriptor socket) {
  auto connection = std::make_unique<Connection>();
  connection->index = static_cast<std::uint32_t>(connections_.size());
  connection->socket = std::move(socket);
  connections_.push_back(std::move(connection));
  return *connections_.back();
}

void LocalWorker::admit(os::Descriptor socket) {
  Connection& connection = add(std::move(socket));
  if (!watch(connection, EPOLLIN, EPOLL_CTL_ADD)) {
    fail(connection, os::descriptor_error("watching a connection (epoll_ctl)", errno));
  }
}

bool LocalWorker::watch(Connection& connection, std::uint32_t events, int operation) {
  epoll_event event = event_of(events, Source::connection, connection.index);
  connection.wants_room = (events & EPOLLOUT) != 0;
  return ::epoll_ctl(epoll_.number(), operation, connection.socket.number(), &event) == 0;
}

// `connect` does not report a failure: the sink gets it, as any later one.
void LocalWorker::try_to_connect(Connection& connection) {
  const auto step = os::try_connect(connection.socket, connection.peer_name);
  const bool busy = step.ok() && *step == os::ConnectStep::busy;
  if (busy && os::monotonic_ns() < connection.connect_until_ns) return;
  connection.connecting = false;
  --connecting_;
  if (!step.ok()) return fail(connection, Status(Code::peer_dead, step.status().message()));
  if (busy) {
    return fail(connection, Status(Code::peer_dead,
                                   "a worker of this machine has not accepted a connection for 30 s: its process is "
                                   "stopped, or other processes fill its queue"));
  }
  if (*step == os::ConnectStep::refused) {
    return fail(connection, Status(Code::peer_dead, "the worker to connect to is gone"));
  }
  if (!watch(connection, EPOLLIN, EPOLL_CTL_ADD)) {
    return fail(connection, os::descriptor_error("watching a connection (epoll_ctl)", errno));
  }
  move_out(connection);
}

// From here on nothing is sent or received; the rest waits for the end of `progress`.
void LocalWorker::fail(Connection& connection, Status why) {
  if (connection.failure.ok()) connection.failure = std::move(why);
  if (connection.ending) return;
  connection.ending = true;
  ending_.push_back(&connection);
}

void LocalWorker::end(Connection& connection) {
  if (connection.connecting) --connecting_;
  connection.connecting = false;
  connection.socket.reset();
  const Status& why = connection.failure;
  for (OutgoingFrame& frame : connection.frames) {
    if (frame.kind == FrameKind::message) ended(frame.completion, why);
  }
  for (OutgoingBulk& bulk : connection.bulk) ended(bulk.completion, why);
  for (Flush& flush : connection.flushes) ended(flush.completion, why);
  connection.frames = {};
  connection.bulk = {};
  connection.requested = {};
  connection.flushes = {};
  connection.incoming = {};
  for (auto& [number, arrival] : connection.arrivals) {
    if (arrival->state != Arrival::State::landing) continue;  // the sink still has it
    arrival->state = Arrival::State::ended;
    arrival->outcome = why;
    landed_.push_back(arrival);
  }
  connection.arrivals = {};
  tell_what_ended();
  if (connection.id && !closing_) sink_.on_endpoint_failure(*connection.id, why);
}

}  // namespace grapnel::transport::local
