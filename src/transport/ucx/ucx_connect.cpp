// Endpoints: made by `connect`, by a peer's hello, ended by failure.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "os/limits.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport::ucx {
namespace {

constexpr std::uint64_t kHelloMagic = 0x6772'6170'6e65'6c31;  // "grapnel1"

// UCX trusts an address that it is given to connect to: it must come from the job. The sum shows a damaged one.
struct HelloHeader {
  std::uint64_t magic = kHelloMagic;
  std::uint64_t secret = 0;
  std::uint64_t sum = 0;
  std::uint32_t endpoint = 0;  ///< the sender's, to be welcomed
  std::uint32_t unused = 0;
};

struct WelcomeHeader {
  std::uint64_t secret = 0;
  std::uint32_t endpoint = 0;
  std::uint32_t unused = 0;
};

std::uint64_t sum_of(ByteView bytes) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325;  // FNV-1a
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x0000'0100'0000'01b3;
  return sum;
}

}  // namespace

// Where the peer has connected to us before, the way back is taken: a second connection would be wired up beside it.
Result<EndpointId> UcxWorker::connect(ByteView address) {
  const auto known = path_to_.find(sum_of(address));
  const bool is_there = known != path_to_.end() && known->second->failure.ok() && !known->second->id;
  const Result<Path*> taken = is_there ? Result<Path*>(known->second) : add_path(address);
  if (!taken.ok()) return taken.status();
  Path& path = **taken;
  path.unready = true;
  path.id = EndpointId{static_cast<std::uint32_t>(endpoints_.size())};
  endpoints_.push_back(&path);
  if (!is_there) {
    GRAPNEL_TRY(connect_lanes(path));
  } else if (path.lanes_connected) {
    GRAPNEL_TRY(send_hello(path, 0));
  }
  return *path.id;
}

Result<Path*> UcxWorker::add_path(ByteView address) {
  base::Decoder decoder(address);
  const auto process = decoder.get<os::ProcessName>();
  const auto ucx_address = decoder.get_string();
  if (!process || !ucx_address || ucx_address->empty()) {
    return Status{Code::system, "an address to connect to is too short: it is not what Worker::address gave"};
  }
  auto path = std::make_unique<Path>();
  path->worker = this;
  path->process = *process;
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(ucx_address->data());
  // Chosen from the table and not by trying: UCX prints an error line for each endpoint that it refuses.
  params.err_mode = context_->settings().error_mode;
  params.err_handler = {.cb = on_endpoint_failure, .arg = path.get()};
  const ucs_status_t status = ucp_ep_create(worker_, &params, &path->endpoint);
  if (status != UCS_OK) {
    return Status{Code::system, to_local_status(status, "connect to a worker").message() +
                                    " (UCX_TLS=" + context_->settings().transports + ")" + context_->settings().over};
  }
  Path* added = path.get();
  path_of_[added->endpoint] = added;
  path_to_[sum_of(address)] = added;
  last_way_back_ = nullptr;
  paths_.push_back(std::move(path));
  return added;
}

bool UcxWorker::is_connected(EndpointId id) const {
  const Path& path = *endpoints_[static_cast<std::size_t>(id)];
  return !path.unready || !path.failure.ok();
}

// UCX 1.13 aborts where a peer dies while a message of UCX's own wire-up (REQ, REP) waits for a socket that is being
// connected (ucp_request.c:684). The wire-up starts with the first message that asks for a way back. So a greeting of
// messages that ask for none is first, and the sockets of both directions are connected when it is over:
//
//   connects                                  is connected to
//   sockets connected ─▶ hello ─────────────▶ makes its endpoint ─▶ sockets connected
//   welcomed: messages may leave ◀─────────── welcome
//
// A flush is what waits for the sockets of all lanes.
Status UcxWorker::connect_lanes(Path& path) {
  const Completion connected{[](void* context, const Status& outcome) {
                               auto& self = *static_cast<Path*>(context);
                               if (outcome.ok()) self.worker->lanes_connected(self);
                             },
                             &path};
  Operation& operation = operations_.acquire(path, connected);
  const ucp_request_param_t param = operation_params(on_operation_end, operation);
  const Result<Sent> sent = started(ucp_ep_flush_nbx(path.endpoint, &param), operation, "connect to a worker");
  if (sent && *sent == Sent::done) lanes_connected(path);
  return sent.status();
}

void UcxWorker::lanes_connected(Path& path) {
  path.lanes_connected = true;
  if (path.id && path.unready && path.failure.ok()) static_cast<void>(send_hello(path, 0));
  if (path.welcome_owed) send_welcome(path);
}

// Before the first message, where the greeting is not waited for: UCX's wire-up then starts at once.
Status UcxWorker::make_ready(Path& path) {
  if (!path.failure.ok() || !path.unready) return path.failure;
  path.unready = false;
  return send_hello(path, UCP_AM_SEND_FLAG_REPLY);
}

Status UcxWorker::send_hello(Path& path, unsigned flags) {
  const HelloHeader hello{.secret = context_->settings().secret,
                          .sum = sum_of(address_),
                          .endpoint = static_cast<std::uint32_t>(path.id.value_or(EndpointId{0}))};
  return send_greeting(path, kHelloId, flags, base::bytes_of(hello), address_);
}

void UcxWorker::send_welcome(Path& path) {
  const WelcomeHeader welcome{.secret = context_->settings().secret, .endpoint = *path.welcome_owed};
  path.welcome_owed.reset();
  // Where it cannot be sent the peer is gone.
  static_cast<void>(send_greeting(path, kMarkerId, 0, base::bytes_of(welcome), {}));
}

Status UcxWorker::send_greeting(Path& path, unsigned message_id, unsigned flags, ByteView header, ByteView payload) {
  Operation& operation = operations_.acquire(path, {});
  std::memcpy(operation.header.data(), header.data(), header.size());
  ucp_request_param_t param = operation_params(on_operation_end, operation);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER | flags;
  return started(ucp_am_send_nbx(path.endpoint, message_id, operation.header.data(), header.size(), payload.data(),
                                 payload.size(), &param),
                 operation, "greet a worker")
      .status();
}

// A marker is empty; what is not is a welcome.
ucs_status_t UcxWorker::on_marker(void* worker, const void* header, std::size_t header_bytes, void*, std::size_t,
                                  const ucp_am_recv_param_t*) {
  auto& self = *static_cast<UcxWorker*>(worker);
  if (header_bytes == 0 || self.closing_) return UCS_OK;
  const auto welcome = base::Decoder({static_cast<const std::byte*>(header), header_bytes}).get<WelcomeHeader>();
  const bool ours = welcome && welcome->secret == self.context_->settings().secret;
  if (!ours || welcome->endpoint >= self.endpoints_.size()) {
    self.ignore(header_bytes, 0);
  } else {
    // On a socket that works: what UCX starts now does not wait for it.
    static_cast<void>(self.make_ready(*self.endpoints_[welcome->endpoint]));
  }
  return UCS_OK;
}

ucs_status_t UcxWorker::on_hello(void* worker, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t data_bytes, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  const bool has_way_back = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  const bool data_is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (self.closing_ || !data_is_here) return UCS_OK;
  self.accept_hello(has_way_back ? param->reply_ep : nullptr, {static_cast<const std::byte*>(header), header_bytes},
                    {static_cast<const std::byte*>(data), data_bytes});
  return UCS_OK;
}

void UcxWorker::accept_hello(ucp_ep_h way_back, ByteView header, ByteView address) {
  const auto hello = base::Decoder(header).get<HelloHeader>();
  const bool ours = hello && hello->magic == kHelloMagic && hello->secret == context_->settings().secret;
  if (!ours || hello->sum != sum_of(address)) {
    ignore(header.size(), address.size());
    return;
  }
  // Two workers that connect to each other share one UCX endpoint each: then the way back is the one we have. An entry
  // with another endpoint is left from one that UCX has freed since.
  const auto known = path_of_.find(way_back);
  if (known != path_of_.end() && known->second->endpoint == way_back) return;
  const Result<Path*> path = path_to(address, hello->sum);
  if (!path.ok()) {
    base::log_error("no way back to a worker that connected: {}", path.status().message());
    return;
  }
  if (way_back != nullptr) {
    // UCX matches our endpoint with the one that the message came on, mostly; where it does not, messages still come on
    // that one, and replies leave on ours.
    path_of_[way_back] = *path;
    return;
  }
  (*path)->welcome_owed = hello->endpoint;
  if ((*path)->lanes_connected) send_welcome(**path);
}

// The path to the worker with that address, or a new one.
Result<Path*> UcxWorker::path_to(ByteView address, std::uint64_t sum) {
  const auto known = path_to_.find(sum);
  if (known != path_to_.end() && known->second->failure.ok()) return known->second;
  Result<Path*> added = add_path(address);
  if (added) GRAPNEL_TRY(connect_lanes(**added));
  return added;
}

Path* UcxWorker::path_of(ucp_ep_h way_back) {
  if (way_back == last_way_back_) return last_path_;
  const auto found = path_of_.find(way_back);
  if (found == path_of_.end()) return nullptr;
  last_way_back_ = way_back;
  last_path_ = found->second;
  return last_path_;
}

void UcxWorker::on_endpoint_failure(void* path, ucp_ep_h /*endpoint*/, ucs_status_t status) {
  Path& failed = *static_cast<Path*>(path);
  failed.worker->endpoint_failed(failed, status);
}

// May run inside ucp_worker_progress or inside a send: the sink is called later, from `progress`.
void UcxWorker::endpoint_failed(Path& path, ucs_status_t status) {
  if (!path.failure.ok()) return;
  path.unready = true;
  // UCX ends a connection, too, where this process could open no descriptor for it.
  const std::string why = std::string("the connection to a peer is gone: ") + ucs_status_string(status) +
                          path.worker->context_->settings().over;
  path.failure = Status{Code::peer_dead, os::with_limits_met(why)};
  failed_.push_back(&path);
}

}  // namespace grapnel::transport::ucx
