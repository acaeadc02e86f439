// SPDX-License-Identifier: Apache-2.0
#include "progress/server.hpp"

#include <cstring>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "base/log.hpp"
#include "os/placement.hpp"

namespace grapnel::progress {
namespace {

// After so many looks a driver leaves what is still to do to the server: it has work of its own.
constexpr int kLastSteps = 4;

// A stripe is free within microseconds, unless its holder has lost its processor.
constexpr std::uint32_t kMostVainLooks = 256;
constexpr std::uint64_t kParkedSleep_ns = base::kMillisecond_ns;

// Of a server that looks by a timer: a tick of the kernel's clock at 1,000 Hz.
constexpr std::uint64_t kTimerPeriod_ns = base::kMillisecond_ns;

}  // namespace

Server::Server(const base::Config& config, launch::Launch& launch, Waiting& waiting)
    : settings_(config.get<Settings>()),
      alike_(config.alike()),
      launch_(launch),
      waiting_(waiting),
      patience_(waiting.server_spin_ns(), 4 * waiting.server_spin_ns()),
      origins_(static_cast<std::size_t>(launch.size())),
      server_ways_(launch.nodes().node_count()),
      links_(launch) {
  for (Origin& origin : origins_) origin.server = this;
  handlers_.add(kCountsHandler, {"counts", 0, 0, true, [](Request& request) {
                                   request.answer({}, {});
                                   return Outcome::done;
                                 }});
  handlers_.add(kBellHandler, {"bell", 0, 0, false, [](Request&) { return Outcome::done; }});
  links_.add_to(handlers_);
  links_.watch(settings_.heartbeat_ms * base::kMillisecond_ns, settings_.connect_ms * base::kMillisecond_ns);
}

Result<std::unique_ptr<Server>> Server::create(const base::Config& config, launch::Launch& launch, Waiting& waiting,
                                               transport::Transport& transport) {
  auto server = std::unique_ptr<Server>(new Server(config, launch, waiting));
  GRAPNEL_ASSIGN_OR_RETURN(auto worker, transport.create_worker(*server));
  server->worker_ = std::move(worker);
  server->links_.use(*server->worker_, waiting.host());
  return server;
}

Server::~Server() { stop(); }

Status Server::start(const std::vector<int>& cpus) {
  GRAPNEL_ASSIGN_OR_RETURN(auto thread, waiting_.host().start("grapnel-server", cpus, [this] { run(); }));
  thread_ = std::move(thread);
  if (links_.tick_ns() == 0) return {};
  auto metronome = Metronome::start(waiting_.host(), cpus, links_.tick_ns(), [this] {
    links_.tick();
    worker_->wake();
  });
  if (!metronome) return metronome.status();
  metronome_ = std::move(*metronome);
  return {};
}

void Server::stop() {
  metronome_.reset();
  stopping_.store(true, std::memory_order_release);  // pairs with the acquire load in `run`
  if (thread_) worker_->wake();
  thread_.reset();
}

void Server::run() {
  base::log_set_identity(std::to_string(index(launch_.rank())) + "/server");
  while (!stopping_.load(std::memory_order_acquire)) {
    if (move()) {
      vain_looks_ = 0;
    } else {
      wait_for_work();
    }
  }
}

bool Server::move() {
  bool moved = worker_->progress();
  moved |= look();
  return retry_parked() || moved;  // also while messages keep coming: the stripe may be free by now
}

void Server::wait_for_work() {
  if (settings_.mode == ProgressMode::timer) return wait_for_the_timer();
  if (retrying_origins_ > 0) return wait_for_a_local_rank();
  if (settings_.mode == ProgressMode::poll) return waiting_.host().relax();
  if (settings_.mode == ProgressMode::adaptive) {
    if (neighbour_.answers_for_long()) {
      // Two that share a core take turns; apart, one works on while the other begins.
      neighbour_.forget();
      os::leave_cpu();
    }
    Waiting::Spin spin(waiting_, neighbour_, patience_);
    while (spin.step()) {
      if (worker_->progress() || look() || stopping_.load(std::memory_order_acquire)) return;
    }
  }
  sleeps_.fetch_add(1, std::memory_order_relaxed);
  neighbour_.forget();
  const std::uint64_t from_ns = waiting_.host().now_ns();
  if (bell_) {
    doze();
  } else {
    worker_->sleep(Waiting::kLongestSleep_ns);
  }
  patience_.slept(waiting_.host().now_ns() - from_ns);
}

// No message and no rank ends this sleep: neither the worker is armed nor the bell marked.
void Server::wait_for_the_timer() {
  sleeps_.fetch_add(1, std::memory_order_relaxed);
  waiting_.host().wait(timer_, 0, kTimerPeriod_ns);
}

// A request is parked until a local rank gives back, soon, what it needs (a stripe, a part of the shared heap), or
// empties its inbox, perhaps much later. No message announces either.
void Server::wait_for_a_local_rank() {
  if (settings_.mode == ProgressMode::poll || ++vain_looks_ <= kMostVainLooks) {
    waiting_.host().relax();
    waiting_.host().yield();
    return;
  }
  worker_->sleep(kParkedSleep_ns);
}

void Server::doze() {
  bell_->set_asleep(true);
  // What a rank stored before it could see the mark is found here; a rank that sees it wakes the worker.
  if (!look() && worker_->arm()) {
    bell_->offer_turn();
    worker_->doze(Waiting::kLongestSleep_ns);
    bell_->reclaim_turn(waiting_.host(), Waiting::kLongestSleep_ns);
  }
  bell_->set_asleep(false);
}

Server::Driver::Driver(Server& server) : server_(server), has_turn_(server.bell_ && server.bell_->take_turn()) {
  if (!has_turn_) return;
  server_.turns_taken_.fetch_add(1, std::memory_order_relaxed);
  server_.worker_->lend();
  server_.bell_->set_asleep(false);
}

Server::Driver::~Driver() {
  if (!has_turn_) return;
  server_.bell_->set_asleep(true);  // before the last look
  bool all_done = false;
  for (int step = 0; !all_done && step < kLastSteps; ++step) {
    all_done = !server_.move() && server_.retrying_origins_ == 0 && server_.worker_->arm();
  }
  all_done = all_done && !server_.stopping_.load(std::memory_order_acquire);  // pairs with `stop`: its wake may be gone
  server_.worker_->take_back();
  server_.bell_->give_back(server_.waiting_.host());
  if (!all_done) server_.worker_->wake();
}

void Server::Driver::sleep(std::uint64_t timeout_ns) {
  if (server_.retrying_origins_ > 0)
    return server_.waiting_.host().yield();  // no message arrives when the stripe is free
  server_.bell_->set_asleep(true);
  if (!server_.look()) server_.worker_->sleep(timeout_ns);
  server_.bell_->set_asleep(false);
}

void Server::ring_or_drive() {
  const Driver driver(*this);
  if (!driver.has_turn()) ring();
}

bool Server::look() {
  bool any = false;
  for (const auto& watcher : watchers_) any |= watcher();
  return links_.move() || any;
}

bool Server::retry_parked() {
  if (retrying_origins_ == 0) return false;
  bool any = false;
  for (Origin& origin : origins_) {
    if (origin.retries) any |= run_parked(origin);
  }
  return any;
}

// Executes what is parked until something must wait, and notes what for. True when anything was settled.
bool Server::run_parked(Origin& origin) {
  bool any = false;
  bool retries = false;
  while (origin.started < origin.parked.size() && origin.started < kLandingsPerOrigin) {
    Parked& next = origin.parked[origin.started];
    if (next.bulk.handle != nullptr) {
      if (!start_landing(origin, next)) break;
    } else {
      if (origin.started > 0) break;                        // bulk data that is landing has precedence
      if (!has_room_to_answer(origin, next.header)) break;  // continues when an answer has left
      next.outcome = execute(origin, *next.handler, next.header, next.body, next.payload, next.resume);
      retries = next.outcome == Outcome::retry;
      if (retries) break;
      next.over = true;
    }
    ++origin.started;
    any |= settle_first(origin);
  }
  if (retries && !origin.retries) ++retrying_origins_;
  if (!retries && origin.retries) --retrying_origins_;
  origin.retries = retries;
  return any;
}

// The first requests that are over, in their order. True when there were any.
bool Server::settle_first(Origin& origin) {
  bool any = false;
  while (origin.started > 0 && origin.parked.front().over) {
    const Parked first = std::move(origin.parked.front());
    origin.parked.pop_front();
    unparked_.fetch_add(1, std::memory_order_relaxed);
    --origin.started;
    origin.held -= first.header.charge;
    settle(origin, *first.handler, first.header, first.outcome);
    any = true;
  }
  return any;
}

// Only servers are connected to: a client that is gone receives nothing.
void Server::on_endpoint_failure(transport::EndpointId endpoint, const Status& why) { links_.lost(endpoint, why); }

Server::Statistics Server::statistics() const {
  const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  return {read(handled_), read(refused_), read(foreign_), read(parked_), read(sleeps_), read(turns_taken_)};
}

}  // namespace grapnel::progress
