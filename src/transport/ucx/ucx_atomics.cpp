// Native atomics of a worker: an endpoint of its AtomicInterface per path, connected by two messages.
//
//   open_atomics                              the peer's worker
//   makes its endpoint ─▶ address ──────────▶ makes one, connects it (its adapter answers from here on)
//   connects: open ◀────────────── address ─┘
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "transport/ucx/ucx_memory.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport::ucx {
namespace {

struct AtomicsHeader {
  std::uint64_t secret = 0;
  std::uint32_t endpoint = 0;  ///< of the worker that opens
  std::uint32_t answers = 0;
  std::uint32_t code = 0;  ///< an answer's: of Code
  std::uint32_t unused = 0;
};

// The text of a refusal beside the addresses, within a header.
constexpr std::size_t kMostText = 200;

Status outcome_of(Code code, ByteView text) {
  if (code == Code::ok) return {};
  return {code, std::string(reinterpret_cast<const char*>(text.data()), text.size())};
}

void notify(const Completion& completion, const Status& outcome) {
  if (completion.notify != nullptr) completion.notify(completion.context, outcome);
}

}  // namespace

Result<AtomicInterface*> UcxWorker::adapter() {
  if (context_->atomic_device() == nullptr) {
    return Status{Code::unavailable,
                  "the UCX transports " + context_->settings().transports + " have no native atomics"};
  }
  if (adapter_ == nullptr) {
    GRAPNEL_ASSIGN_OR_RETURN(adapter_, AtomicInterface::create(context_->atomic_device(), on_atomic_failure, this));
  }
  return adapter_.get();
}

// ---- opening

Result<Sent> UcxWorker::open_atomics(EndpointId to, Completion completion) {
  Path& target = path(to);
  if (!target.failure.ok()) return target.failure;
  if (target.atomics == Path::Atomics::open) return Sent::done;
  GRAPNEL_CHECK(target.atomics == Path::Atomics::closed, "an endpoint is opened for atomics twice at a time");
  GRAPNEL_ASSIGN_OR_RETURN(AtomicInterface* const mine, adapter());
  if (target.atomic_endpoint == nullptr) {
    GRAPNEL_ASSIGN_OR_RETURN(target.atomic_endpoint, mine->make_endpoint());
  }
  GRAPNEL_ASSIGN_OR_RETURN(const AtomicAddress address, mine->address_of(target.atomic_endpoint));
  if (target.unready) GRAPNEL_TRY(make_ready(target));
  GRAPNEL_TRY(send_atomics_message(target, UCP_AM_SEND_FLAG_REPLY, static_cast<std::uint32_t>(to), false, {}, address));
  target.atomics = Path::Atomics::opening;
  target.atomics_opened = completion;
  return Sent::pending;
}

Status UcxWorker::send_atomics_message(Path& path, unsigned flags, std::uint32_t endpoint, bool answers,
                                       const Status& outcome, const AtomicAddress& address) {
  const AtomicsHeader header{.secret = context_->settings().secret,
                             .endpoint = endpoint,
                             .answers = answers ? 1U : 0U,
                             .code = static_cast<std::uint32_t>(outcome.code())};
  const std::string text = outcome.message().substr(0, kMostText);
  base::Encoder message;
  message.put(header).put_string(address.device).put_string(address.endpoint);
  message.put_string(std::as_bytes(std::span(text)));
  path.used_since_flush = true;
  return send_greeting(path, kAtomicsId, flags, message.view(), {});
}

ucs_status_t UcxWorker::on_atomics_message(void* worker, const void* header, std::size_t header_bytes, void*,
                                           std::size_t data_bytes, const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  if (self.closing_) return UCS_OK;
  base::Decoder decoder({static_cast<const std::byte*>(header), header_bytes});
  const auto front = decoder.get<AtomicsHeader>();
  const auto device = decoder.get_string();
  const auto endpoint = decoder.get_string();
  const auto text = decoder.get_string();
  const bool ours = text && front->code <= static_cast<std::uint32_t>(Code::system) &&
                    front->secret == self.context_->settings().secret && data_bytes == 0;
  const bool has_way_back = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  Path* const back = has_way_back ? self.path_of(param->reply_ep) : nullptr;
  if (!ours || (front->answers == 0 && back == nullptr)) {
    self.ignore(header_bytes, data_bytes);
  } else if (front->answers != 0) {
    self.atomics_answered(front->endpoint, outcome_of(static_cast<Code>(front->code), *text), *device, *endpoint);
  } else {
    AtomicAddress mine;
    const Status accepted = self.accept_atomics(*device, *endpoint, mine);
    // Where it cannot be sent the peer is gone.
    static_cast<void>(self.send_atomics_message(*back, 0, front->endpoint, true, accepted, mine));
  }
  return UCS_OK;
}

Status UcxWorker::accept_atomics(ByteView device_address, ByteView endpoint_address, AtomicAddress& mine) {
  GRAPNEL_ASSIGN_OR_RETURN(AtomicInterface* const interface, adapter());
  GRAPNEL_ASSIGN_OR_RETURN(const uct_ep_h endpoint, interface->make_endpoint());
  GRAPNEL_TRY(interface->connect(endpoint, device_address, endpoint_address));
  GRAPNEL_ASSIGN_OR_RETURN(mine, interface->address_of(endpoint));
  return {};
}

void UcxWorker::atomics_answered(std::uint32_t endpoint, const Status& outcome, ByteView device_address,
                                 ByteView endpoint_address) {
  if (endpoint >= endpoints_.size() || endpoints_[endpoint]->atomics != Path::Atomics::opening) {
    return ignore(device_address.size(), endpoint_address.size());
  }
  Path& path = *endpoints_[endpoint];
  Status opened = outcome;
  if (opened.ok()) opened = adapter_->connect(path.atomic_endpoint, device_address, endpoint_address);
  path.atomics = opened.ok() ? Path::Atomics::open : Path::Atomics::closed;
  opened_atomics_.emplace_back(path.atomics_opened, opened);
}

// ---- operations

ucs_status_t UcxWorker::post_atomic(const Path& target, const Atomic& what, std::uintptr_t remote_address,
                                    uct_rkey_t key, AtomicOperation& operation) {
  operation.ended = {.func = on_atomic_end, .count = 1, .status = UCS_OK};
  if (what.kind == Atomic::Kind::compare_swap) {
    return uct_ep_atomic_cswap64(target.atomic_endpoint, what.expected, what.operand, remote_address, key,
                                 &operation.result, &operation.ended);
  }
  const auto opcode = what.kind == Atomic::Kind::swap ? UCT_ATOMIC_OP_SWAP : UCT_ATOMIC_OP_ADD;
  return uct_ep_atomic64_fetch(target.atomic_endpoint, opcode, what.operand, &operation.result, remote_address, key,
                               &operation.ended);
}

// What UCT takes is in the adapter's queue. Where that is full the adapter has to answer first; a peer that is gone
// fails the path, which ends the loop.
Result<Sent> UcxWorker::atomic(EndpointId to, const Atomic& what, std::uint64_t* old_value,
                               std::uintptr_t remote_address, const RemoteKey& key, Completion completion) {
  Path& target = path(to);
  const uct_rkey_bundle_t* const bundle = static_cast<const UcxRemoteKey&>(key).atomics();
  GRAPNEL_CHECK(target.atomics == Path::Atomics::open && bundle != nullptr, "an atomic before open_atomics");
  AtomicOperation& operation = atomics_.acquire();
  operation.worker = this;
  operation.path = &target;
  operation.old_value = old_value;
  operation.completion = completion;
  ucs_status_t posted = UCS_ERR_NO_RESOURCE;
  while (posted == UCS_ERR_NO_RESOURCE && target.failure.ok()) {
    posted = post_atomic(target, what, remote_address, bundle->rkey, operation);
    if (posted == UCS_ERR_NO_RESOURCE) adapter_->progress();
  }
  if (posted == UCS_INPROGRESS) return Sent::pending;
  if (posted == UCS_OK) *old_value = operation.result;
  atomics_.release(operation);
  if (posted == UCS_OK) return Sent::done;
  return target.failure.ok() ? to_status(posted, "start an atomic") : target.failure;
}

void UcxWorker::on_atomic_end(uct_completion_t* ended) {
  auto& operation = *reinterpret_cast<AtomicOperation*>(ended);
  operation.worker->ended_atomics_.push_back(&operation);
}

void UcxWorker::on_atomic_failure(void* worker, uct_ep_h endpoint) {
  auto& self = *static_cast<UcxWorker*>(worker);
  for (Path* const path : self.endpoints_) {
    if (path->atomic_endpoint == endpoint) self.endpoint_failed(*path, UCS_ERR_ENDPOINT_TIMEOUT);
  }
}

void UcxWorker::tell_what_atomics_ended() {
  for (const auto& [completion, outcome] : std::exchange(opened_atomics_, {})) notify(completion, outcome);
  for (AtomicOperation* const operation : std::exchange(ended_atomics_, {})) {
    const Status outcome = to_status(operation->ended.status, "finish an atomic");
    const Completion completion = operation->abandoned ? Completion{} : operation->completion;
    if (!operation->abandoned && outcome.ok()) *operation->old_value = operation->result;
    atomics_.release(*operation);
    notify(completion, outcome);
  }
}

void UcxWorker::abandon_atomics(Path& path, const Status& why) {
  if (path.atomics == Path::Atomics::opening) {
    path.atomics = Path::Atomics::closed;
    notify(path.atomics_opened, why);
  }
  std::vector<Completion> owed;
  atomics_.for_each_in_use([&](AtomicOperation& operation) {
    if (operation.path != &path || operation.abandoned) return;
    operation.abandoned = true;
    owed.push_back(operation.completion);
  });
  for (const Completion& completion : owed) notify(completion, why);
}

// The worker closes: what UCT still has ends with its interface, and writes to no caller's memory.
void UcxWorker::end_atomics(const Status& why) {
  for (Path* const path : endpoints_) abandon_atomics(*path, why);
  adapter_.reset();
}

}  // namespace grapnel::transport::ucx
