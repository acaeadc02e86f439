// SPDX-License-Identifier: Apache-2.0
#include "launch/node_launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <iterator>
#include <set>
#include <sstream>

#include "base/build.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "base/units.hpp"
#include "os/identity.hpp"

namespace grapnel::launch {
namespace {

constexpr std::string_view kBuildMark = "grapnel ";
constexpr const char* kIntroductionKey = "grapnel.introduction";
constexpr std::uint64_t kAbort_ns = base::kSecond_ns;
// Launchers that are asked to end a job drop what they have not read of its output yet (hydra's proxies do).
constexpr std::uint64_t kOutput_ns = 100 * base::kMillisecond_ns;
constexpr std::uint64_t kLook_ns = 10 * base::kMillisecond_ns;

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::optional<std::string> text_from(base::Decoder& decoder) {
  const auto bytes = decoder.get_string();
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// Of another build: only what check_alike names.
Introduction foreign(const std::string& build, const std::string& machine) {
  Introduction one;
  one.build = build;
  one.machine = machine;
  return one;
}

// Of the words of `mine` those that `theirs` has not.
std::string not_in(const std::string& theirs, const std::string& mine) {
  std::istringstream other(theirs), own(mine);
  const std::set<std::string> known{std::istream_iterator<std::string>(other), {}};
  std::string found;
  for (std::string word; own >> word;) {
    if (known.count(word) == 0) found += (found.empty() ? "" : " ") + word;
  }
  return found;
}

}  // namespace

Bytes Introduction::encode() const {
  base::Encoder encoder;
  encoder.put_string(view_of(std::string(kBuildMark) + build))
      .put_string(view_of(machine))
      .put_string(view_of(mailbox_name))
      .put_string(view_of(listener_name))
      .put(secret);
  encoder.put(virtual_nodes).put_string(view_of(settings));
  return encoder.take();
}

Result<Introduction> Introduction::decode(ByteView bytes) {
  base::Decoder decoder(bytes);
  const auto build = text_from(decoder);
  // Builds before the mark was made begin with their machine.
  if (!build || build->rfind(kBuildMark, 0) != 0) return foreign("an older one", build.value_or(""));
  std::string name = build->substr(kBuildMark.size());
  auto machine = text_from(decoder);
  auto mailbox_name = text_from(decoder);
  auto listener_name = text_from(decoder);
  const auto secret = decoder.get<std::uint64_t>();
  const auto virtual_nodes = decoder.get<int>();
  auto settings = text_from(decoder);
  if (name != base::build_name()) return foreign(name, machine.value_or(""));
  if (!settings || !secret || !virtual_nodes || !machine || !mailbox_name || !listener_name) {
    return Status(Code::refused, "a rank's introduction cannot be read");
  }
  return Introduction{std::move(name), *std::move(machine), *std::move(mailbox_name), *std::move(listener_name),
                      *secret,         *virtual_nodes,      *std::move(settings)};
}

Status check_alike(const std::vector<Introduction>& everybody) {
  const Introduction& first = everybody.front();
  const auto host_of = [](const Introduction& one) { return one.machine.substr(0, one.machine.find('/')); };
  for (const Introduction& other : everybody) {
    const auto rank = &other - everybody.data();
    if (other.build != first.build) {
      return {Code::invalid_argument,
              fmt::format(
                  "the ranks of a job must have one build of Grapnel, and rank {} on host {} has {}, rank 0 on host "
                  "{} has {}; look at which library each loads (ldd, LD_LIBRARY_PATH), or build the programs anew",
                  rank, host_of(other), other.build, host_of(first), first.build)};
    }
    if (other.virtual_nodes != first.virtual_nodes) {
      return {Code::invalid_argument,
              fmt::format("GRAPNEL_NODES must be alike in all ranks of a job; rank {} on host {} has {}, rank 0 {}",
                          rank, host_of(other), other.virtual_nodes, first.virtual_nodes)};
    }
    if (other.settings != first.settings) {
      return {Code::invalid_argument,
              fmt::format(
                  "some settings must be alike in all ranks of a job, and rank {} on host {} has {}, rank 0 on host "
                  "{} has {}; does the launcher pass the variables on?",
                  rank, host_of(other), not_in(first.settings, other.settings), host_of(first),
                  not_in(other.settings, first.settings))};
    }
  }
  return {};
}

void tell(std::string_view text) {
  const std::string line = fmt::format("{}grapnel: {}\n", base::log_stamp(), text);
  // A message that cannot be written has nowhere to be reported.
  (void)base::write_all(STDERR_FILENO, line);
}

Status NodeLaunch::claim_identity() {
  const auto holder = claim_.take(LauncherSigns::now());
  return holder ? identity_is_taken(*holder) : Status();
}

Status NodeLaunch::meet(const base::Config& config, Rank me, int size) {
  rank_ = me;
  GRAPNEL_TRY(os::check_random());
  GRAPNEL_ASSIGN_OR_RETURN(auto doors, NodeEndpoints::open());
  const Introduction mine{base::build_name(), os::machine_identity(),       doors.mailbox_name, doors.listener_name,
                          os::random_u64(),   config.get<Settings>().nodes, config.alike()};
  GRAPNEL_TRY(publish(kIntroductionKey, mine.encode()));
  GRAPNEL_TRY(fence());
  std::vector<Introduction> everybody;
  everybody.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto bytes, lookup(static_cast<Rank>(rank), kIntroductionKey));
    GRAPNEL_ASSIGN_OR_RETURN(auto introduction, Introduction::decode(bytes));
    everybody.push_back(std::move(introduction));
  }
  return settle(config, std::move(everybody), std::move(doors));
}

Status NodeLaunch::settle(const base::Config& config, std::vector<Introduction> everybody, NodeEndpoints doors) {
  GRAPNEL_TRY(check_alike(everybody));
  const auto& settings = config.get<Settings>();
  std::vector<std::string> machines;
  machines.reserve(everybody.size());
  for (Introduction& introduction : everybody) machines.push_back(std::move(introduction.machine));
  nodes_ = make_node_map(machines, settings.nodes);
  job_secret_ = everybody.front().secret;

  NodeLink::Plan plan{
      rank_, {}, job_secret_, settings.pool_bytes, NodeMemory::bytes_for(nodes_, node(), settings.node_memory)};
  for (const Rank rank : nodes_.ranks_of[index(node())]) {
    Introduction& introduction = everybody[index(rank)];
    plan.ranks.push_back({rank, std::move(introduction.mailbox_name), std::move(introduction.listener_name)});
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto link, NodeLink::join(host_, std::move(plan), std::move(doors)));
  link_ = std::move(link);
  return {};
}

Status NodeLaunch::watch(Liveness::EndJob end_job, Liveness::LauncherSocket launcher) {
  const bool with_rank_0 = node() == NodeId{0};
  if (auto socket = StatusSocket::open(job_secret_, rank()); socket.ok()) {
    status_ = *std::move(socket);
  } else {
    base::log_info("`grapnel status` will not find this rank: {}", socket.status().message());
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto liveness,
                           Liveness::start(host_, link_->liveness_words(), link_->take_peers(), with_rank_0,
                                           std::move(end_job), std::move(launcher), status_.get()));
  liveness_ = std::move(liveness);
  return {};
}

Status NodeLaunch::death_or(Status failure) {
  const std::uint64_t end_ns = host_.now_ns() + kGrace_ns + kAbort_ns;
  os::Word never{0};
  while (liveness_ != nullptr && host_.now_ns() < end_ns) {
    GRAPNEL_TRY(health());
    host_.wait(never, 0, kLook_ns);
  }
  return failure;
}

bool NodeLaunch::announce() {
  // Release, partner: the watchers' acquiring look at it (Liveness::after_death).
  return !link_ || link_->liveness_words().announced.exchange(1, std::memory_order_acq_rel) == 0;
}

bool NodeLaunch::announce_abort() {
  if (announce() || health().ok()) return true;
  os::Word never{0};
  host_.wait(never, 0, kFollow_ns);
  return false;
}

void NodeLaunch::leave_after(int exit_code, const std::function<void()>& tell_launcher) {
  os::Word never{0};
  host_.wait(never, 0, kOutput_ns);
  std::atomic<bool> told{false};
  const auto teller = host_.start("grapnel-abort", {}, [&] {
    tell_launcher();
    told.store(true, std::memory_order_release);  // partner: the look below
  });
  const std::uint64_t end_ns = host_.now_ns() + kAbort_ns;
  while (teller.ok() && !told.load(std::memory_order_acquire) && host_.now_ns() < end_ns) {
    host_.wait(never, 0, kLook_ns);
  }
  ::_exit(exit_code);  // before the thread is joined
}

Status NodeLaunch::send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) {
  Status sent = link_->send_descriptor(to, tag, descriptor);
  if (sent.ok() || health().ok()) return sent;
  return health();  // the death is the cause, the failed send its consequence
}

Result<os::Descriptor> NodeLaunch::receive_descriptor(std::uint64_t tag) {
  return link_->receive_descriptor(tag, [this] { return health(); });
}

Status NodeLaunch::health() {
  // Acquire, partner: the watcher's compare-and-swap in Liveness.
  const std::uint32_t dead = link_->liveness_words().dead.load(std::memory_order_acquire);
  if (dead == 0) [[likely]]
    return {};
  return Status(Code::peer_dead, describe_death(dead));
}

void NodeLaunch::use_status(StatusHooks&& hooks) {
  if (status_) status_->use(std::move(hooks));
}

void NodeLaunch::serve_status() {
  if (status_) status_->serve();
}

void NodeLaunch::at_death(const std::function<void(Rank)>& tell) {
  if (liveness_) liveness_->at_death(tell);
}

std::optional<Rank> NodeLaunch::dead() const {
  const std::uint32_t dead = link_->liveness_words().dead.load(std::memory_order_acquire);  // partner: as in `health`
  if (dead == 0 || dead == kLauncherGone) [[likely]]
    return {};
  return Rank(static_cast<int>(dead) - 1);
}

}  // namespace grapnel::launch
