// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/ucx_worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "os/clock.hpp"
#include "os/limits.hpp"
#include "transport/ucx/ucx_memory.hpp"
#include "transport/ucx/ucx_status.hpp"

namespace grapnel::transport::ucx {
namespace {

constexpr std::uint64_t kDrainLimit_ns = 200 * base::kMillisecond_ns;
// Buffers of an adapter: UCX 1.13 registers 56 MiB for rc and ud, the half of it only when it connects.
constexpr std::size_t kPinnedByWorker = 64 * base::kMiB, kPage = 4 * base::kKiB;

// What the context's workers may still have to register, this one counted. Without a limit a page is tried.
std::size_t to_be_pinned(std::size_t workers) {
  const std::size_t all = workers * kPinnedByWorker;
  return os::pinning_is_unlimited() ? kPage : std::max(kPage, all - std::min(all, os::pinned_bytes()));
}

Status creation_failure(ucs_status_t status, bool pins) {
  Status failure = to_local_status(status, "create a worker");
  const std::string limit = pins ? os::pinning_limit_met(kPinnedByWorker) : "";
  if (limit.empty()) return failure;
  return {Code::unavailable, fmt::format("{} ({})", failure.message(), limit)};
}

// `other`: none where it is negative, which ppoll passes over.
void sleep_on(int descriptor, std::uint64_t timeout_ns, int other = -1) {
  pollfd events[] = {{.fd = descriptor, .events = POLLIN, .revents = 0}, {.fd = other, .events = POLLIN, .revents = 0}};
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / base::kSecond_ns),
                         .tv_nsec = static_cast<long>(timeout_ns % base::kSecond_ns)};
  // A signal ends the sleep early, which `sleep` may do.
  const int ready = ::ppoll(events, std::size(events), &timeout, nullptr);
  GRAPNEL_CHECK(ready >= 0 || errno == EINTR, "ppoll on descriptor {} failed with errno {}", descriptor, errno);
}

}  // namespace

Result<std::unique_ptr<Worker>> UcxWorker::create(std::shared_ptr<const Context> context, MessageSink& sink) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker(std::move(context), sink));
  GRAPNEL_TRY(worker->open());
  return std::unique_ptr<Worker>(std::move(worker));
}

Status UcxWorker::open() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_EVENTS | UCP_WORKER_PARAM_FIELD_FLAGS;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.events = UCP_WAKEUP_RX | UCP_WAKEUP_TX;
  if (context_->settings().native == NativeWay::adapter) params.events |= UCP_WAKEUP_RMA;
  // Requests of a peer that died may stay with UCX until the worker ends: no leak that anyone could mend.
  params.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  // Where ud may register no buffers, ucp_worker_create never returns (uct_ud_verbs_iface_t's constructor asks again).
  GRAPNEL_TRY(try_registration(context_, to_be_pinned(context_->count_worker())));
  const ucs_status_t created = ucp_worker_create(context_->handle(), &params, &worker_);
  if (created != UCS_OK) return creation_failure(created, context_->settings().native == NativeWay::adapter);
  GRAPNEL_TRY(to_local_status(ucp_worker_get_efd(worker_, &event_fd_), "make a worker's event descriptor"));
  GRAPNEL_TRY(install_handlers());
  return read_address();
}

Status UcxWorker::install_handlers() {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.arg = this;
  handler.id = kNoId;
  handler.cb = on_no_message;
  GRAPNEL_TRY(to_status(ucp_worker_set_am_recv_handler(worker_, &handler), "install the handler of no message"));
  handler.id = kMessageId;
  handler.cb = on_message;
  GRAPNEL_TRY(to_status(ucp_worker_set_am_recv_handler(worker_, &handler), "install the message handler"));
  handler.id = kMarkerId;
  handler.cb = on_marker;
  GRAPNEL_TRY(to_status(ucp_worker_set_am_recv_handler(worker_, &handler), "install the marker handler"));
  handler.id = kHelloId;
  handler.cb = on_hello;
  GRAPNEL_TRY(to_status(ucp_worker_set_am_recv_handler(worker_, &handler), "install the hello handler"));
  handler.id = kAtomicsId;
  handler.cb = on_atomics_message;
  return to_status(ucp_worker_set_am_recv_handler(worker_, &handler), "install the handler of atomics");
}

ucs_status_t UcxWorker::on_no_message(void* worker, const void*, std::size_t header_bytes, void*,
                                      std::size_t data_bytes, const ucp_am_recv_param_t*) {
  static_cast<UcxWorker*>(worker)->ignore(header_bytes, data_bytes);
  return UCS_OK;
}

Status UcxWorker::read_address() {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  GRAPNEL_TRY(to_status(ucp_worker_get_address(worker_, &address, &bytes), "tell a worker's address"));
  const bool copies = context_->settings().native == NativeWay::process_copy;
  base::Encoder encoder;
  encoder.put(copies ? os::my_process_name() : os::ProcessName{})
      .put_string(std::as_bytes(std::span(reinterpret_cast<const char*>(address), bytes)));
  address_ = encoder.take();
  ucp_worker_release_address(worker_, address);
  return {};
}

UcxWorker::~UcxWorker() {
  if (worker_ == nullptr) return;
  closing_ = true;
  for (Path* endpoint : endpoints_) {
    if (endpoint->failure.ok() && !endpoint->flushing) (void)flush(*endpoint->id, {});
  }
  decline_all();
  // Those that still wait for a bulk payload have given up on it: nothing must land in its memory from here on.
  bool landing = false;
  arrivals_.for_each(Arrival::State::landing, [&landing](Arrival&) { landing = true; });
  if (!landing) drain(kDrainLimit_ns);
  if (emptiness_request_ != nullptr) ucp_request_free(emptiness_request_);
  end_atomics(Status{Code::peer_dead, "the worker was closed before an atomic ended"});
  close_by_force();
  // It closes the endpoints by force, which a peer that is gone cannot delay. Closing them here first would leave UCX
  // with an endpoint that a look at the transmit side still counts, and 1.13 aborts over that.
  ucp_worker_destroy(worker_);
  tell_what_ended();
  if (has_bulk_under_way()) context_->keep_lost_transfers();
  operations_.for_each_in_use([this](Operation& operation) {
    operation.outcome = Status{Code::peer_dead, "the worker was closed before the operation ended"};
    finish(operation);
  });
  arrivals_.for_each(Arrival::State::landing, [this](Arrival& arrival) {
    landed(arrival, Status{Code::peer_dead, "the worker was closed before a bulk payload had landed"});
  });
  tell_what_landed();
}

void UcxWorker::drain(std::uint64_t limit_ns) {
  const std::uint64_t deadline = os::monotonic_ns() + limit_ns;
  while ((operations_.in_use() > abandoned_ || atomics_.under_way() > 0 || is_looking_at_transmit_side()) &&
         os::monotonic_ns() < deadline) {
    if (!progress()) sleep(base::kMillisecond_ns);
  }
}

bool UcxWorker::progress() {
  GRAPNEL_CHECK(!progressing_, "progress was called from a sink or a completion");
  progressing_ = true;
  bool anything = ucp_worker_progress(worker_) != 0;
  if (atomics_.under_way() > 0) anything |= adapter_->progress();
  anything |= tell_what_ended();
  progressing_ = false;
  return anything;
}

void UcxWorker::sleep(std::uint64_t timeout_ns) {
  int adapter_fd = -1;
  if (atomics_.under_way() > 0) {
    adapter_fd = adapter_->arm();
    if (adapter_fd < 0) return;
  }
  if (arm_events()) sleep_on(event_fd_, timeout_ns, adapter_fd);
}

bool UcxWorker::arm() {
  if (!dozer_.valid()) open_dozer();  // only servers doze, and only they arm
  return arm_events();
}

void UcxWorker::open_dozer() {
  dozer_ = os::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {}};
  const bool open = dozer_.valid() && ::epoll_ctl(dozer_.number(), EPOLL_CTL_ADD, event_fd_, &event) == 0;
  GRAPNEL_CHECK(open, "no epoll descriptor for a server's sleep: errno {}", errno);
}

bool UcxWorker::arm_events() {
  GRAPNEL_CHECK(!progressing_, "sleep was called from a sink or a completion");
  if (!ended_.empty() || !failed_.empty() || !landed_.empty() || has_ended_atomics()) return false;
  const ucs_status_t armed = ucp_worker_arm(worker_);
  GRAPNEL_CHECK(armed == UCS_OK || armed == UCS_ERR_BUSY, "UCX could not arm a worker: {}", ucs_status_string(armed));
  return armed == UCS_OK;
}

void UcxWorker::doze(std::uint64_t timeout_ns) { sleep_on(dozer_.number(), timeout_ns); }

void UcxWorker::lend() { show_to_dozer(0); }
void UcxWorker::take_back() { show_to_dozer(EPOLLIN); }

void UcxWorker::show_to_dozer(std::uint32_t events) {
  epoll_event event{.events = events, .data = {}};
  const int changed = ::epoll_ctl(dozer_.number(), EPOLL_CTL_MOD, event_fd_, &event);
  GRAPNEL_CHECK(changed == 0, "epoll_ctl on descriptor {} failed with errno {}", dozer_.number(), errno);
}

void UcxWorker::wake() {
  // Writes an event descriptor, which any thread may do; the next arm or poll sees it.
  const ucs_status_t status = ucp_worker_signal(worker_);
  GRAPNEL_CHECK(status == UCS_OK, "UCX could not signal a worker: {}", ucs_status_string(status));
}

}  // namespace grapnel::transport::ucx
