// Bulk payloads that arrive: announced by a rendezvous of UCX, received at the place that the sink names, or declined.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "transport/ucx/ucx_status.hpp"
#include "transport/ucx/ucx_worker.hpp"

namespace grapnel::transport::ucx {
namespace {}  // namespace

ucs_status_t UcxWorker::offer(Path& path, ByteView header, void* announcement, std::size_t bytes) {
  Arrival& arrival = arrivals_.acquire();
  arrival.path = &path;
  arrival.announcement = announcement;
  arrival.bytes = bytes;
  offered_ = &arrival;
  sink_.on_bulk({.header = header, .payload_bytes = bytes, .reply_path = {&path}, .bulk = {&arrival}});
  const bool declined = std::exchange(offered_, nullptr) == nullptr;
  // UCX keeps its descriptor on INPROGRESS; on OK it informs the sender that the payload is not wanted.
  return declined ? UCS_OK : UCS_INPROGRESS;
}

void UcxWorker::receive(BulkHandle bulk, ByteSpan place, Completion completion) {
  Arrival& arrival = offered_arrival<Arrival>(bulk, place.size());
  arrival.state = Arrival::State::landing;
  arrival.completion = completion;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = on_landed;
  param.user_data = &arrival;
  // Where the peer is gone, UCX finds its endpoint no more and never ends the request.
  if (!arrival.path->failure.ok()) {
    if (offered_ != &arrival) ucp_am_data_release(worker_, arrival.announcement);
    if (offered_ == &arrival) offered_ = nullptr;
    return landed(arrival, arrival.path->failure);
  }
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_, arrival.announcement, place.data(), place.size(), &param);
  if (!UCS_PTR_IS_PTR(request)) landed(arrival, to_status(UCS_PTR_STATUS(request), "receive a bulk payload"));
}

void UcxWorker::decline(BulkHandle bulk) {
  auto* arrival = static_cast<Arrival*>(bulk.handle);
  offered_arrival<Arrival>(bulk, arrival->bytes);
  if (offered_ == arrival) {
    offered_ = nullptr;
  } else {
    ucp_am_data_release(worker_, arrival->announcement);
  }
  arrivals_.release(*arrival);
}

// Before the worker ends: what the sink never answered.
void UcxWorker::decline_all() {
  arrivals_.for_each(Arrival::State::offered, [this](Arrival& arrival) { decline({&arrival}); });
}

// Without the error mode PEER, UCX never ends the rendezvous of a connection that failed. It does not touch their
// memory any more either: the socket is closed.
void UcxWorker::abandon_bulk(Path& path) {
  std::vector<Completion> told;
  arrivals_.for_each(Arrival::State::landing, [&](Arrival& arrival) {
    if (arrival.path != &path) return;
    arrival.state = Arrival::State::abandoned;
    told.push_back(std::exchange(arrival.completion, {}));
  });
  operations_.for_each_in_use([&](Operation& operation) {
    if (operation.path != &path || operation.bulk_number == 0 || operation.abandoned) return;
    operation.abandoned = true;
    ++abandoned_;
    told.push_back(std::exchange(operation.completion, {}));
  });
  path.bulk_under_way.clear();
  for (const Completion& completion : told) {
    if (completion.notify != nullptr) completion.notify(completion.context, path.failure);
  }
  end_flush_where_all_has_left(path, path.failure);
}

// With the error mode PEER, UCX must not be left with a rendezvous when the worker ends; without, it may.
void UcxWorker::close_by_force() {
  if (context_->settings().error_mode != UCP_ERR_HANDLING_MODE_PEER) return;
  std::vector<Path*> busy;
  for (const auto& path : paths_) {
    if (!path->bulk_under_way.empty() && path->failure.ok()) busy.push_back(path.get());
  }
  arrivals_.for_each(Arrival::State::landing, [&busy](Arrival& arrival) {
    if (arrival.path->failure.ok()) busy.push_back(arrival.path);
  });
  std::sort(busy.begin(), busy.end());
  busy.erase(std::unique(busy.begin(), busy.end()), busy.end());
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (Path* path : busy) {
    const ucs_status_ptr_t request = ucp_ep_close_nbx(path->endpoint, &param);
    if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
  }
}

// Whether UCX still has a request of a bulk transfer, in either direction.
bool UcxWorker::has_bulk_under_way() {
  bool found = false;
  operations_.for_each_in_use([&found](Operation& operation) { found |= operation.bulk_number != 0; });
  for (const auto state : {Arrival::State::landing, Arrival::State::abandoned}) {
    arrivals_.for_each(state, [&found](Arrival&) { found = true; });
  }
  return found;
}

void UcxWorker::on_landed(void* request, ucs_status_t status, std::size_t, void* arrival) {
  ucp_request_free(request);
  auto& here = *static_cast<Arrival*>(arrival);
  if (here.state == Arrival::State::abandoned) return here.path->worker->arrivals_.release(here);
  here.path->worker->landed(here, to_status(status, "receive a bulk payload"));
}

void UcxWorker::landed(Arrival& arrival, Status outcome) {
  arrival.state = Arrival::State::ended;
  arrival.outcome = std::move(outcome);
  landed_.push_back(&arrival);
}

void UcxWorker::tell_what_landed() {
  const auto ended = std::exchange(landed_, {});
  for (Arrival* arrival : ended) {
    const Completion completion = arrival->completion;
    const Status outcome = std::move(arrival->outcome);
    arrivals_.release(*arrival);
    if (completion.notify != nullptr) completion.notify(completion.context, outcome);
  }
}

}  // namespace grapnel::transport::ucx
