// Endpoints: made by `connect`, by a peer's hello, ended by failure.
#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "os/limits.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport::ucx {
namespace {

constexpr std::uint64_t kHelloMagic = 0x6772'6170'6e65'6c31;  // "grapnel1"

// UCX trusts an address that it is given to connect to: it must come from the job. The sum tells a damaged one.
struct HelloHeader {
  std::uint64_t magic = kHelloMagic;
  std::uint64_t secret = 0;
  std::uint64_t sum = 0;
};

std::uint64_t sum_of(ByteView bytes) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325;  // FNV-1a
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x0000'0100'0000'01b3;
  return sum;
}

}  // namespace

Result<EndpointId> UcxWorker::connect(ByteView address) {
  Result<Path*> added = add_path(address);
  if (!added.ok()) return added.status();
  Path& path = **added;
  GRAPNEL_TRY(send_hello(path));
  path.id = EndpointId{static_cast<std::uint32_t>(endpoints_.size())};
  endpoints_.push_back(&path);
  return *path.id;
}

Result<Path*> UcxWorker::add_path(ByteView address) {
  base::Decoder decoder(address);
  const auto process = decoder.get<ProcessName>();
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
  last_way_back_ = nullptr;
  paths_.push_back(std::move(path));
  return added;
}

Status UcxWorker::send_hello(Path& path) {
  const HelloHeader hello{.secret = context_->settings().secret, .sum = sum_of(address_)};
  return send_on(path, kHelloId, base::bytes_of(hello), address_, {}).status();
}

ucs_status_t UcxWorker::on_hello(void* worker, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t data_bytes, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  const bool has_way_back = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  const bool data_is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (self.closing_ || !has_way_back || !data_is_here) return UCS_OK;
  self.accept_hello(param->reply_ep, {static_cast<const std::byte*>(header), header_bytes},
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
  const Result<Path*> added = add_path(address);
  if (!added.ok()) {
    base::log_error("no way back to a worker that connected: {}", added.status().message());
    return;
  }
  // UCX matches the new endpoint with the one that the message came on, mostly; where it does not, messages still come
  // on that one, and replies leave on ours.
  path_of_[way_back] = *added;
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

// May run inside ucp_worker_progress or inside a send: the sink is told later, from `progress`.
void UcxWorker::endpoint_failed(Path& path, ucs_status_t status) {
  if (!path.failure.ok()) return;
  // UCX ends a connection, too, where this process could open no descriptor for it.
  const std::string why = std::string("the connection to a peer is gone: ") + ucs_status_string(status) +
                          path.worker->context_->settings().over;
  path.failure = Status{Code::peer_dead, os::with_limits_met(why)};
  failed_.push_back(&path);
}

}  // namespace grapnel::transport::ucx
