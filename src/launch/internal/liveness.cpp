// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/liveness.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/log.hpp"

namespace grapnel::launch {
namespace {

constexpr std::byte kGoodbye{'g'};
constexpr int kForever = -1;
constexpr std::uint64_t kKills_ns = 5 * base::kMillisecond_ns;

// An eventfd that is not read stays readable: a flag that one can sleep on.
void raise_flag(const os::Descriptor& flag) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(flag.number(), &one, sizeof one);  // fails only when raised 2^64 times
}

bool is_raised(const os::Descriptor& flag) {
  pollfd entry{flag.number(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

std::string describe_death(std::uint32_t dead) {
  if (dead == 0) return {};
  if (dead == kLauncherGone) return "the launcher is gone";
  return fmt::format("rank {} died", dead - 1);
}

Result<std::unique_ptr<Liveness>> Liveness::start(os::Host& host, LivenessWords& words, std::vector<Peer> peers,
                                                  bool with_rank_0, EndJob end_job, LauncherSocket launcher,
                                                  StatusSocket* status) {
  std::unique_ptr<Liveness> liveness(
      new Liveness(host, words, std::move(peers), with_rank_0, std::move(end_job), std::move(launcher), status));
  if (!liveness->stop_.valid() || !liveness->launcher_gone_.valid()) {
    return Status(Code::system, fmt::format("creating an eventfd for the watcher failed (errno {})", errno));
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto watcher, host.start("grapnel-watch", {}, [self = liveness.get()] { self->watch(); }));
  liveness->watcher_ = std::move(watcher);
  return liveness;
}

Liveness::Liveness(os::Host& host, LivenessWords& words, std::vector<Peer> peers, bool with_rank_0, EndJob end_job,
                   LauncherSocket launcher, StatusSocket* status)
    : host_(host),
      words_(words),
      peers_(std::move(peers)),
      with_rank_0_(with_rank_0),
      end_job_(std::move(end_job)),
      launcher_(std::move(launcher)),
      status_(status),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      launcher_gone_(::eventfd(0, EFD_CLOEXEC)) {}

Liveness::~Liveness() {
  if (stop_.valid()) raise_flag(stop_);
  watcher_.reset();
}

void Liveness::say_goodbye() {
  for (const Peer& peer : peers_) {
    // One that is gone already, or will never read again, needs no goodbye.
    [[maybe_unused]] const Status sent = peer.connection.send(ByteView(&kGoodbye, 1), 100 * base::kMillisecond_ns);
  }
}

void Liveness::at_death(const std::function<void(Rank)>& tell) {
  const base::MutexLock guard(tell_mutex_);
  tell_ = tell;
}

void Liveness::launcher_is_gone() { raise_flag(launcher_gone_); }

void Liveness::watch() {
  base::log_set_identity("watch");
  while (!sleep_until_news()) {
    for (Peer& peer : peers_) {
      if (std::exchange(peer.has_news, false) && take_news(peer)) after_death(peer.rank);
    }
  }
}

bool Liveness::sleep_until_news() {
  // Of the launcher's socket the hang-up alone: its data is for the thread that asked.
  std::vector<pollfd> entries = {{stop_.number(), POLLIN, 0},
                                 {launcher_gone_.number(), POLLIN, 0},
                                 {launcher_.number, launcher_.events, 0},
                                 {status_ != nullptr ? status_->listener() : -1, POLLIN, 0},
                                 {status_ != nullptr ? status_->wake() : -1, POLLIN, 0}};
  for (const Peer& peer : peers_) {
    if (peer.connection.valid()) entries.push_back({peer.connection.number(), POLLIN, 0});
  }
  // EINTR looks like news about nothing: the caller looks and tries again.
  ::poll(entries.data(), entries.size(), status_ != nullptr ? status_->sleep_ms() : kForever);
  auto entry = entries.begin() + 5;
  for (Peer& peer : peers_) {
    if (peer.connection.valid()) peer.has_news = (entry++)->revents != 0;
  }
  if (is_raised(stop_)) return true;
  if (entries[2].revents != 0) after_hang_up();
  if (entries[3].revents != 0) status_->serve();
  if (status_ != nullptr) status_->look();
  if (is_raised(launcher_gone_)) after_launcher();
  return false;
}

void Liveness::after_hang_up() {
  launcher_.number = -1;
  if (!launcher_.given_away || !launcher_.given_away()) launcher_is_gone();
}

bool Liveness::take_news(Peer& peer) {
  while (true) {
    const auto packet = peer.connection.receive(0);
    if (packet) {
      if (packet->size() == 1 && packet->front() == kGoodbye) peer.said_goodbye = true;
      continue;
    }
    if (packet.status().code() == Code::timed_out) return false;
    // The end, or an error after which nothing can come any more.
    peer.connection.close();
    return !peer.said_goodbye;
  }
}

void Liveness::after_death(Rank rank) {
  if (launcher_.names_no_rank) speak_first(rank);
  std::uint32_t none = 0;
  // Release, partner: the acquiring load of `health`.
  words_.dead.compare_exchange_strong(none, static_cast<std::uint32_t>(rank) + 1, std::memory_order_acq_rel);
  const std::string why = describe_death(words_.dead.load(std::memory_order_acquire));
  base::log_info("{}", why);
  {
    const base::MutexLock guard(tell_mutex_);
    if (tell_) tell_(rank);
  }
  const bool told = words_.announced.load(std::memory_order_acquire) != 0;
  if (interrupted_within(told ? kFollow_ns / 2 : kGrace_ns)) {
    if (is_raised(launcher_gone_)) after_launcher();
    return;
  }
  if (speaks()) {
    end_job_(why);
  } else {
    if (!told) interrupted_within(kFollow_ns);
    end_job_({});
  }
}

// Before `dead` is written: what a waiter prints about a failed call would otherwise be the last output.
void Liveness::speak_first(Rank rank) {
  // The launcher's own SIGKILLs reach one rank after another: the ends that they cause are no cause.
  interrupted_within(kKills_ns);
  if (speaks()) end_job_(describe_death(static_cast<std::uint32_t>(rank) + 1));
  interrupted_within(kFollow_ns);
  end_job_({});
}

void Liveness::after_launcher() {
  std::uint32_t none = 0;
  words_.dead.compare_exchange_strong(none, kLauncherGone, std::memory_order_acq_rel);
  pollfd stop{stop_.number(), POLLIN, 0};
  if (::poll(&stop, 1, static_cast<int>(kLauncherGone_ns / base::kMillisecond_ns)) > 0) return;
  end_job_(with_rank_0_ && speaks() ? describe_death(kLauncherGone) : std::string());
}

bool Liveness::interrupted_within(std::uint64_t timeout_ns) {
  const std::uint64_t end_ns = host_.now_ns() + timeout_ns;
  while (true) {
    if (is_raised(stop_) || is_raised(launcher_gone_)) return true;
    const std::uint64_t now_ns = host_.now_ns();
    if (now_ns >= end_ns) return false;
    std::array<pollfd, 2> entries{{{stop_.number(), POLLIN, 0}, {launcher_gone_.number(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>((end_ns - now_ns) / base::kMillisecond_ns + 1));
  }
}

bool Liveness::speaks() { return words_.announced.exchange(1, std::memory_order_acq_rel) == 0; }

}  // namespace grapnel::launch
