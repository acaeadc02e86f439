// A mailbox on one UCP worker: messages are active messages with one id, and every message names the endpoint that
// leads back.
//
// Threads: one at a time (UCS_THREAD_MODE_SERIALIZED), except `doze` and `wake`.
// Invariants:
// (1) No function is called from inside ucp_worker_progress except the sink with a message: completions and failures
//     are collected there and called after it. UCX runs completions while it empties an endpoint's queue; a message
//     sent from one at that moment would overtake those that still wait in the queue.
// (2) The first message on every connection is a hello with the sender's address. With it the receiver makes the way
//     back an endpoint of its own: one that UCX made by itself is freed when the peer dies, under the object that kept
//     it.
// (3) A flush of messages waits for no answer, where transports let messages leave in turn: it sends a marker, and when
//     UCX has taken that, all before it have left, but for bulk payloads, which are waited for besides.
//     ucp_ep_flush_nbx over TCP would cost a round trip, and wait for a peer that does not progress its worker.
// (4) An operation under way holds a slot with its header until UCX is through with it.
// (5) A bulk message is a rendezvous of UCX: the announcement is an active message of the same connection, in
//     order; `receive` gives the place to UCX, and the payload is written there from the socket or by the adapter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "os/descriptor.hpp"
#include "transport/transport.hpp"
#include "transport/ucx/ucx_adapter.hpp"
#include "transport/ucx/ucx_arrival.hpp"
#include "transport/ucx/ucx_atomic_operation.hpp"
#include "transport/ucx/ucx_context.hpp"
#include "transport/ucx/ucx_operation.hpp"
#include "transport/ucx/ucx_path.hpp"

namespace grapnel::transport::ucx {

class UcxWorker final : public Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(std::shared_ptr<const Context> context, MessageSink& sink);
  /// Gives what is under way 200 ms to leave; what remains then ends with peer_dead. The sink is not called any more.
  ~UcxWorker() override;

  Bytes address() const override { return address_; }
  Result<EndpointId> connect(ByteView address) override;
  bool is_connected(EndpointId id) const override;
  Result<Sent> send(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) override;
  void receive(BulkHandle bulk, ByteSpan place, Completion landed) override;
  void decline(BulkHandle bulk) override;
  Result<Sent> put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                   Completion completion) override;
  Result<Sent> get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                   Completion completion) override;
  Result<std::unique_ptr<RemoteKey>> import_key(EndpointId endpoint, ByteView key) override;
  Result<Sent> open_atomics(EndpointId to, Completion completion) override;
  Result<Sent> atomic(EndpointId to, const Atomic& what, std::uint64_t* old_value, std::uintptr_t remote_address,
                      const RemoteKey& key, Completion completion) override;
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
  UcxWorker(std::shared_ptr<const Context> context, MessageSink& sink) : context_(std::move(context)), sink_(sink) {}

  // Start-up and end: ucx_worker.cpp
  Status open();
  void open_dozer();
  bool arm_events();
  void show_to_dozer(std::uint32_t events);
  Status install_handlers();
  Status read_address();
  void drain(std::uint64_t limit_ns);

  // Endpoints: ucx_connect.cpp
  Result<Path*> add_path(ByteView address);
  Result<Path*> path_to(ByteView address, std::uint64_t sum);
  Status connect_lanes(Path& path);
  void lanes_connected(Path& path);
  Status make_ready(Path& path);
  Status send_hello(Path& path, unsigned flags);
  void send_welcome(Path& path);
  Status send_greeting(Path& path, unsigned message_id, unsigned flags, ByteView header, ByteView payload);
  void accept_hello(ucp_ep_h way_back, ByteView header, ByteView address);
  Path* path_of(ucp_ep_h way_back);
  void endpoint_failed(Path& path, ucs_status_t status);

  // Operations: ucx_send.cpp
  Path& path(EndpointId id);
  Result<Sent> send_on(Path& path, unsigned message_id, ByteView header, ByteView payload, Completion completion,
                       std::size_t most_whole_bytes = kMaxPayloadBytes);
  Result<Sent> started(ucs_status_ptr_t request, Operation& operation, const char* doing);
  Result<Sent> start_flush(Path& path);
  Result<Sent> send_marker(Path& path, Operation& operation, const char* doing);
  bool transmit_side_is_empty();
  bool is_looking_at_transmit_side();
  void end_flush(Path& path, const Status& outcome);
  void end_flush_where_all_has_left(Path& path, const Status& outcome);
  void finish(Operation& operation);
  bool tell_what_ended();
  void ignore(std::size_t header_bytes, std::size_t data_bytes);

  // Bulk payloads that come: ucx_bulk.cpp
  ucs_status_t offer(Path& path, ByteView header, void* announcement, std::size_t bytes);
  void landed(Arrival& arrival, Status outcome);
  void tell_what_landed();
  void decline_all();
  void abandon_bulk(Path& path);
  void close_by_force();
  bool has_bulk_under_way();

  // Native atomics: ucx_atomics.cpp
  Result<AtomicInterface*> adapter();
  Status send_atomics_message(Path& path, unsigned flags, std::uint32_t endpoint, bool answers, const Status& outcome,
                              const AtomicAddress& address);
  Status accept_atomics(ByteView device_address, ByteView endpoint_address, AtomicAddress& mine);
  void atomics_answered(std::uint32_t endpoint, const Status& outcome, ByteView device_address,
                        ByteView endpoint_address);
  ucs_status_t post_atomic(const Path& target, const Atomic& what, std::uintptr_t remote_address, uct_rkey_t key,
                           AtomicOperation& operation);
  bool has_ended_atomics() const { return !ended_atomics_.empty() || !opened_atomics_.empty(); }
  void tell_what_atomics_ended();
  void abandon_atomics(Path& path, const Status& why);
  void end_atomics(const Status& why);
  static ucs_status_t on_atomics_message(void* worker, const void* header, std::size_t header_bytes, void* data,
                                         std::size_t data_bytes, const ucp_am_recv_param_t* param);
  static void on_atomic_end(uct_completion_t* ended);
  static void on_atomic_failure(void* worker, uct_ep_h endpoint);

  static void on_landed(void* request, ucs_status_t status, std::size_t bytes, void* arrival);
  static ucs_status_t on_message(void* worker, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t data_bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_no_message(void* worker, const void* header, std::size_t header_bytes, void* data,
                                    std::size_t data_bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_marker(void* worker, const void* header, std::size_t header_bytes, void* data,
                                std::size_t data_bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_hello(void* worker, const void* header, std::size_t header_bytes, void* data,
                               std::size_t data_bytes, const ucp_am_recv_param_t* param);
  static void on_operation_end(void* request, ucs_status_t status, void* operation);
  static void on_endpoint_failure(void* path, ucp_ep_h endpoint, ucs_status_t status);

  std::shared_ptr<const Context> context_;
  MessageSink& sink_;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;  ///< of UCX: readable when something happened after `arm`
  /// An epoll descriptor that looks at event_fd_, but not while the worker is lent; opened at the first `arm`.
  os::Descriptor dozer_;
  Bytes address_;
  bool progressing_ = false;
  bool closing_ = false;
  std::uint64_t ignored_ = 0;  ///< messages that were none of ours

  void* emptiness_request_ = nullptr;  ///< UCX's, of a look at the transmit side that did not find it empty

  OperationPool operations_;
  std::vector<std::unique_ptr<Path>> paths_;
  std::vector<Path*> endpoints_;  ///< by EndpointId
  std::unordered_map<ucp_ep_h, Path*> path_of_;
  std::unordered_map<std::uint64_t, Path*> path_to_;  ///< by the sum of the peer's address; the last one
  ucp_ep_h last_way_back_ = nullptr;                  ///< path_of's answer of last time
  Path* last_path_ = nullptr;

  std::unique_ptr<AtomicInterface> adapter_;  ///< null until the first endpoint is opened for atomics
  AtomicPool atomics_;
  std::vector<AtomicOperation*> ended_atomics_;                ///< since the last tell_what_ended
  std::vector<std::pair<Completion, Status>> opened_atomics_;  ///< since the last tell_what_ended

  ArrivalPool<Arrival> arrivals_;
  std::size_t abandoned_ = 0;        ///< operations that UCX still has although their failure was reported
  Arrival* offered_ = nullptr;       ///< to the sink, at this moment
  std::vector<Arrival*> landed_;     ///< since the last tell_what_ended
  std::vector<Operation*> ended_;    ///< since the last tell_what_ended
  std::vector<Operation*> telling_;  ///< those that it is working on; empty outside it
  std::vector<Path*> failed_;        ///< since the last tell_what_ended
};

inline ucp_request_param_t operation_params(ucp_send_nbx_callback_t ended, Operation& operation) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = ended;
  param.user_data = &operation;
  return param;
}

/// The ids of UCX active messages, without gaps from 0 on: UCX 1.13 leaves what is between uninitialised, and calls it.
inline constexpr unsigned kNoId = 0;  ///< of no message of ours
inline constexpr unsigned kMessageId = 1;
inline constexpr unsigned kHelloId = 2;
inline constexpr unsigned kMarkerId = 3;
inline constexpr unsigned kAtomicsId = 4;

}  // namespace grapnel::transport::ucx
