// Operations: messages, native puts and gets, flushes; how they end.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "transport/ucx/ucx_memory.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport::ucx {
namespace {

void notify(const Completion& completion, const Status& outcome) {
  if (completion.notify != nullptr) completion.notify(completion.context, outcome);
}

}  // namespace

Path& UcxWorker::path(EndpointId id) {
  const auto position = static_cast<std::size_t>(id);
  GRAPNEL_CHECK(position < endpoints_.size(), "endpoint {} of {}", position, endpoints_.size());
  return *endpoints_[position];
}

Result<Sent> UcxWorker::send(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  return send_on(path(to), kMessageId, header, payload, completion);
}

Result<Sent> UcxWorker::send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) {
  GRAPNEL_CHECK(payload.size() <= kMaxWholeBytes, "a payload of {} bytes, of {}", payload.size(), kMaxWholeBytes);
  return send_on(path(to), kMessageId, header, payload, completion, kMaxWholeBytes);
}

Result<Sent> UcxWorker::reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) {
  GRAPNEL_CHECK(to.handle != nullptr, "a reply along no path");
  return send_on(*static_cast<Path*>(to.handle), kMessageId, header, payload, completion);
}

Result<Sent> UcxWorker::send_on(Path& path, unsigned message_id, ByteView header, ByteView payload,
                                Completion completion, std::size_t most_whole_bytes) {
  GRAPNEL_CHECK(header.size() <= kMaxHeaderBytes, "a header of {} bytes, of {}", header.size(), kMaxHeaderBytes);
  GRAPNEL_CHECK(payload.size() <= kMaxBulkBytes, "a payload of {} bytes, of {}", payload.size(), kMaxBulkBytes);
  if (path.unready) [[unlikely]]
    GRAPNEL_TRY(make_ready(path));
  path.used_since_flush = true;
  Operation& operation = operations_.acquire(path, completion);
  if (!header.empty()) std::memcpy(operation.header.data(), header.data(), header.size());
  ucp_request_param_t param = operation_params(on_operation_end, operation);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  // The length alone decides, whatever UCX_RNDV_THRESH is.
  param.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_EAGER;
  if (payload.size() > most_whole_bytes) [[unlikely]] {
    param.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV;
    operation.bulk_number = ++path.last_bulk_number;
  }
  return started(ucp_am_send_nbx(path.endpoint, message_id, operation.header.data(), header.size(), payload.data(),
                                 payload.size(), &param),
                 operation, "send a message");
}

Result<Sent> UcxWorker::started(ucs_status_ptr_t request, Operation& operation, const char* doing) {
  if (UCS_PTR_IS_PTR(request)) {
    ++operation.path->under_way;
    if (operation.bulk_number != 0) operation.path->bulk_under_way.push_back(operation.bulk_number);
    return Sent::pending;
  }
  operations_.release(operation);
  if (request == nullptr) return Sent::done;
  return to_status(UCS_PTR_STATUS(request), doing);
}

ucs_status_t UcxWorker::on_message(void* worker, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t data_bytes, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  if (self.closing_) return UCS_OK;
  const bool has_way_back = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  const bool data_is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  Path* path = has_way_back ? self.path_of(param->reply_ep) : nullptr;
  const bool fits = data_is_here ? data_bytes <= kMaxWholeBytes : data_bytes <= kMaxBulkBytes;
  if (path == nullptr || !fits || header_bytes > kMaxHeaderBytes) [[unlikely]] {
    self.ignore(header_bytes, data_bytes);
    return UCS_OK;
  }
  if (!data_is_here) [[unlikely]]
    return self.offer(*path, {static_cast<const std::byte*>(header), header_bytes}, data, data_bytes);
  self.sink_.on_message({.header = {static_cast<const std::byte*>(header), header_bytes},
                         .payload = {static_cast<const std::byte*>(data), data_bytes},
                         .reply_path = {path}});
  return UCS_OK;
}

void UcxWorker::ignore(std::size_t header_bytes, std::size_t data_bytes) {
  // Rate-limits this warning: the 1st, 2nd, 4th, 8th, … are logged.
  if (!std::has_single_bit(++ignored_)) return;
  base::log_warn("message {} that is none of ours was ignored ({} + {} bytes)", ignored_, header_bytes, data_bytes);
}

Result<Sent> UcxWorker::put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  GRAPNEL_CHECK(context_->settings().native != NativeWay::none, "a native put without native put");
  Path& target = path(to);
  if (!target.failure.ok()) return target.failure;
  if (context_->settings().native == NativeWay::process_copy) {
    GRAPNEL_TRY(os::copy_to_process(target.process, local, remote_address));
    return Sent::done;
  }
  target.used_since_flush = true;
  Operation& operation = operations_.acquire(target, completion);
  const ucp_request_param_t param = operation_params(on_operation_end, operation);
  return started(ucp_put_nbx(target.endpoint, local.data(), local.size(), remote_address,
                             static_cast<const UcxRemoteKey&>(key).handle(), &param),
                 operation, "put");
}

Result<Sent> UcxWorker::get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                            Completion completion) {
  GRAPNEL_CHECK(context_->settings().native != NativeWay::none, "a native get without native get");
  Path& target = path(from);
  if (!target.failure.ok()) return target.failure;
  if (context_->settings().native == NativeWay::process_copy) {
    GRAPNEL_TRY(os::copy_from_process(target.process, local, remote_address));
    return Sent::done;
  }
  Operation& operation = operations_.acquire(target, completion);
  const ucp_request_param_t param = operation_params(on_operation_end, operation);
  return started(ucp_get_nbx(target.endpoint, local.data(), local.size(), remote_address,
                             static_cast<const UcxRemoteKey&>(key).handle(), &param),
                 operation, "get");
}

Result<std::unique_ptr<RemoteKey>> UcxWorker::import_key(EndpointId endpoint, ByteView key) {
  Path& target = path(endpoint);
  if (!target.failure.ok()) return target.failure;
  ucp_rkey_h handle = nullptr;
  std::optional<AdapterKey> parts;
  switch (context_->settings().native) {
    case NativeWay::none: return Status{Code::unavailable, "this transport has no native put and get"};
    case NativeWay::adapter:
      parts = read_adapter_key(key);
      if (!parts) return Status{Code::invalid_argument, "a remote key that is none of an adapter's"};
      GRAPNEL_TRY(to_status(ucp_ep_rkey_unpack(target.endpoint, parts->copies.data(), &handle), "import a remote key"));
      break;
    case NativeWay::process_copy:
      if (target.process.pid == 0 || target.process.pid_namespace != os::my_process_name().pid_namespace) {
        return Status{Code::unavailable, "the peer is in another pid namespace: its memory cannot be copied natively"};
      }
      break;
  }
  auto imported = std::make_unique<UcxRemoteKey>(handle);
  if (parts && !parts->atomics.empty() && context_->atomic_device() != nullptr) {
    GRAPNEL_TRY(imported->take_atomics(context_->atomic_device()->component(), parts->atomics));
  }
  return std::unique_ptr<RemoteKey>(std::move(imported));
}

Result<Sent> UcxWorker::flush(EndpointId endpoint, Completion completion) {
  Path& target = path(endpoint);
  if (!target.failure.ok()) return target.failure;
  if (target.flushing) {
    target.next_flush_waiters.push_back(completion);
    return Sent::pending;
  }
  if (!target.used_since_flush && target.under_way == 0) return Sent::done;
  Result<Sent> flushed = start_flush(target);
  if (flushed.ok() && *flushed == Sent::pending) target.flush_waiters.push_back(completion);
  return flushed;
}

Result<Sent> UcxWorker::start_flush(Path& path) {
  path.used_since_flush = false;
  path.marker_left = false;
  path.flushed_bulk_number = path.last_bulk_number;
  const bool leaves_in_turn = context_->settings().leaves_in_turn;
  if (leaves_in_turn && path.under_way == 0 && transmit_side_is_empty()) return Sent::done;
  Operation& operation = operations_.acquire(path, {});
  operation.is_flush = true;
  const ucp_request_param_t param = operation_params(on_operation_end, operation);
  Result<Sent> flushed = leaves_in_turn ? send_marker(path, operation, "flush")
                                        : started(ucp_ep_flush_nbx(path.endpoint, &param), operation, "flush");
  if (flushed.ok() && *flushed == Sent::done && !path.bulk_under_way.empty()) {
    path.marker_left = true;  // UCX took it at once, but payloads that were announced before it have yet to leave
    flushed = Sent::pending;
  }
  path.flushing = flushed.ok() && *flushed == Sent::pending;
  return flushed;
}

// A message that the peer's worker ignores.
Result<Sent> UcxWorker::send_marker(Path& path, Operation& operation, const char* doing) {
  ucp_request_param_t param = operation_params(on_operation_end, operation);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  return started(ucp_am_send_nbx(path.endpoint, kMarkerId, nullptr, 0, nullptr, 0, &param), operation, doing);
}

// Of all endpoints: UCX answers it for single ones only with a round trip. One look at most is left with UCX, which
// counts them per endpoint in 8 bits.
bool UcxWorker::transmit_side_is_empty() {
  if (is_looking_at_transmit_side()) return false;
  const ucp_request_param_t param{};
  const ucs_status_ptr_t request = ucp_worker_flush_nbx(worker_, &param);
  if (UCS_PTR_IS_PTR(request)) emptiness_request_ = request;
  return request == nullptr;
}

bool UcxWorker::is_looking_at_transmit_side() {
  if (emptiness_request_ == nullptr) return false;
  if (ucp_request_check_status(emptiness_request_) == UCS_INPROGRESS) return true;
  ucp_request_free(std::exchange(emptiness_request_, nullptr));
  return false;
}

void UcxWorker::end_flush_where_all_has_left(Path& path, const Status& outcome) {
  const bool bulk_waits = !path.bulk_under_way.empty() && path.bulk_under_way.front() <= path.flushed_bulk_number;
  if (path.flushing && path.marker_left && !bulk_waits) end_flush(path, outcome);
}

void UcxWorker::end_flush(Path& path, const Status& outcome) {
  path.flushing = false;
  const auto waiters = std::exchange(path.flush_waiters, {});
  const auto next = std::exchange(path.next_flush_waiters, {});
  Result<Sent> again = Sent::done;
  if (!next.empty()) again = path.failure.ok() ? start_flush(path) : Result<Sent>(path.failure);
  const bool waits = again.ok() && *again == Sent::pending;
  if (waits) path.flush_waiters = next;
  for (const Completion& waiter : waiters) notify(waiter, outcome);
  if (waits) return;
  for (const Completion& waiter : next) notify(waiter, again.status());
}

void UcxWorker::on_operation_end(void* request, ucs_status_t status, void* operation) {
  ucp_request_free(request);
  auto& ended = *static_cast<Operation*>(operation);
  ended.outcome = to_status(status, "finish an operation");
  --ended.path->under_way;
  ended.path->worker->ended_.push_back(&ended);
}

void UcxWorker::finish(Operation& operation) {
  const Completion completion = operation.completion;
  const Status outcome = std::move(operation.outcome);
  Path& path = *operation.path;
  const bool is_flush = operation.is_flush;
  const std::uint64_t bulk_number = operation.bulk_number;
  if (operation.abandoned) --abandoned_;
  // The slot is free before any completion is called, so that a send from there finds it.
  operations_.release(operation);
  if (is_flush) {
    path.marker_left = true;
    return end_flush_where_all_has_left(path, outcome);
  }
  notify(completion, outcome);
  if (bulk_number == 0) [[likely]]
    return;
  std::erase(path.bulk_under_way, bulk_number);
  end_flush_where_all_has_left(path, path.failure);
}

bool UcxWorker::tell_what_ended() {
  if (ended_.empty() && failed_.empty() && landed_.empty() && !has_ended_atomics()) return false;
  // Taken out first: a completion may send, and a send may fail its endpoint. Swapped, so that no memory is allocated.
  telling_.swap(ended_);
  for (Operation* operation : telling_) finish(*operation);
  telling_.clear();
  if (!landed_.empty()) tell_what_landed();
  if (has_ended_atomics()) tell_what_atomics_ended();
  const auto failed = std::exchange(failed_, {});
  for (Path* path : failed) {
    if (path->last_bulk_number > 0 || !arrivals_.empty()) abandon_bulk(*path);
    abandon_atomics(*path, path->failure);
    if (path->id && !closing_) sink_.on_endpoint_failure(*path->id, path->failure);
  }
  return true;
}

}  // namespace grapnel::transport::ucx
