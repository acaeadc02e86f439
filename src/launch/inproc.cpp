// SPDX-License-Identifier: Apache-2.0
#include "launch/inproc.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/units.hpp"

namespace grapnel::launch {
namespace {

// As for every sleep of the runtime: the longest time in which a death is not noticed.
constexpr std::uint64_t kSlice_ns = 250 * base::kMillisecond_ns;
constexpr std::uint64_t kDescriptorTimeout_ns = 30 * base::kSecond_ns;

}  // namespace

class InprocLaunch : public Launch {
 public:
  InprocLaunch(InprocWorld& world, Rank rank, os::Host& host)
      : world_(world),
        rank_(rank),
        host_(host),
        node_memory_(ByteSpan(static_cast<std::byte*>(share().memory.address()), share().memory.bytes())) {}

  Rank rank() const override { return rank_; }
  int size() const override { return world_.options_.ranks; }
  const NodeMap& nodes() const override { return world_.nodes_; }
  std::uint64_t job_secret() const override { return world_.options_.job_secret; }
  std::string description() const override { return "inproc"; }
  NodeMemory& node_memory() override { return node_memory_; }
  os::AddressPool& pool() override { return *share().pool; }
  Status health() override { return world_.health(); }
  std::optional<Rank> dead() const override {
    const int dead = world_.dead_rank_.load(std::memory_order_acquire);  // pairs with the store in `kill`
    return dead < 0 ? std::nullopt : std::optional(Rank(dead));
  }

  Status publish(std::string_view key, ByteView value) override;
  Status fence() override;
  Result<Bytes> lookup(Rank rank, std::string_view key) override;
  Status send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) override;
  Result<os::Descriptor> receive_descriptor(std::uint64_t tag) override;
  [[noreturn]] void abort(int exit_code, const std::string& why) override;
  Status finalize() override { return fence(); }

 private:
  InprocWorld::NodeShare& share() { return world_.shares_[index(world_.nodes_.node_of[index(rank_)])]; }

  InprocWorld& world_;
  const Rank rank_;
  os::Host& host_;
  NodeMemory node_memory_;
};

// ---- the world

// Whatever the layers carve: the pages of a sparse file that no rank touches cost nothing.
std::size_t node_memory_bytes(const NodeMap& nodes, NodeId node) {
  const std::size_t local = nodes.ranks_of[index(node)].size(), size = nodes.node_of.size();
  const std::size_t by_rank = local * (64 * base::kKiB + 16 * size + 16 * nodes.node_count()) + size * 256;
  return base::round_up(16 * base::kMiB + by_rank, std::size_t{4096});
}

InprocWorld::InprocWorld(const InprocOptions& options)
    : options_(options),
      nodes_(make_node_map(std::vector<std::string>(static_cast<std::size_t>(options.ranks), "inproc"), options.nodes)),
      shares_(nodes_.node_count()),
      inboxes_(static_cast<std::size_t>(options.ranks)) {}

InprocWorld::~InprocWorld() = default;

Result<std::unique_ptr<InprocWorld>> InprocWorld::create(const InprocOptions& options) {
  if (options.ranks < 1 || options.nodes < 1) {
    return Status(Code::invalid_argument,
                  fmt::format("a world of {} ranks on {} nodes; both begin at 1", options.ranks, options.nodes));
  }
  std::unique_ptr<InprocWorld> world(new InprocWorld(options));
  for (std::size_t node = 0; node < world->shares_.size(); ++node) {
    const std::size_t bytes = node_memory_bytes(world->nodes_, NodeId{static_cast<int>(node)});
    GRAPNEL_TRY(world->make_node_share(world->shares_[node], bytes));
  }
  return world;
}

Status InprocWorld::make_node_share(NodeShare& share, std::size_t bytes) const {
  // A sparse file is zero without being written, so a small test does not pay for 8 MiB.
  GRAPNEL_ASSIGN_OR_RETURN(auto file, os::create_shared_file("grapnel-node", bytes));
  auto memory = os::Mapping::create(file, bytes);
  if (!memory) return memory.status();
  share.memory = *std::move(memory);
  auto pool = os::AddressPool::reserve(0, options_.pool_bytes);
  if (!pool) return pool.status();
  share.pool = *std::move(pool);
  return {};
}

std::unique_ptr<Launch> InprocWorld::join(Rank rank, os::Host& host) {
  GRAPNEL_CHECK(index(rank) < inboxes_.size(), "rank {} of {}", index(rank), inboxes_.size());
  return std::make_unique<InprocLaunch>(*this, rank, host);
}

void InprocWorld::kill(Rank rank) {
  int none = -1;
  dead_rank_.compare_exchange_strong(none, static_cast<int>(rank));  // the first death is the one that is named
}

Status InprocWorld::health() const {
  if (const int dead = dead_rank_.load(std::memory_order_acquire); dead >= 0) [[unlikely]] {
    return Status(Code::peer_dead, fmt::format("rank {} has died", dead));
  }
  if (const int aborting = aborting_rank_.load(std::memory_order_acquire); aborting >= 0) [[unlikely]] {
    return Status(Code::peer_dead, fmt::format("rank {} has aborted the job", aborting));
  }
  return {};
}

bool InprocWorld::arrive(std::uint32_t& generation_seen) {
  const base::MutexLock lock(mutex_);
  generation_seen = fences_completed_.load(std::memory_order_relaxed);  // written under this mutex
  if (++arrived_ < options_.ranks) return false;
  arrived_ = 0;
  for (auto& [key, value] : staged_) published_[key] = std::move(value);
  staged_.clear();
  fences_completed_.store(generation_seen + 1, std::memory_order_release);  // pairs with the load in `fence`
  return true;
}

// ---- one rank

Status InprocLaunch::publish(std::string_view key, ByteView value) {
  const base::MutexLock lock(world_.mutex_);
  world_.staged_[{rank_, std::string(key)}] = Bytes(value.begin(), value.end());
  return {};
}

Status InprocLaunch::fence() {
  GRAPNEL_TRY(health());
  std::uint32_t seen = 0;
  if (world_.arrive(seen)) {
    host_.wake(world_.fences_completed_);
    return {};
  }
  while (world_.fences_completed_.load(std::memory_order_acquire) == seen) {
    GRAPNEL_TRY(health());
    host_.wait(world_.fences_completed_, seen, kSlice_ns);
  }
  return {};
}

Result<Bytes> InprocLaunch::lookup(Rank rank, std::string_view key) {
  host_.yield();
  const base::MutexLock lock(world_.mutex_);
  const auto found = world_.published_.find({rank, std::string(key)});
  if (found != world_.published_.end()) return found->second;
  return Status(Code::unavailable,
                fmt::format("rank {} has published nothing under \"{}\" before the last fence", index(rank), key));
}

Status InprocLaunch::send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) {
  if (index(to) >= world_.inboxes_.size() || nodes().node_of[index(to)] != node()) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} is not on the node of rank {}; a descriptor stays on its "
                              "node",
                              index(to), index(rank_)));
  }
  os::Descriptor copy(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    return Status(Code::system,
                  fmt::format("descriptor {} cannot be duplicated: {}", descriptor.number(), std::strerror(errno)));
  }
  InprocWorld::Inbox& inbox = world_.inboxes_[index(to)];
  {
    const base::MutexLock lock(world_.mutex_);
    inbox.by_tag[tag].push_back(std::move(copy));
    inbox.arrivals.fetch_add(1, std::memory_order_release);
  }
  host_.wake(inbox.arrivals);
  return {};
}

Result<os::Descriptor> InprocLaunch::receive_descriptor(std::uint64_t tag) {
  InprocWorld::Inbox& inbox = world_.inboxes_[index(rank_)];
  const std::uint64_t give_up_ns = host_.now_ns() + kDescriptorTimeout_ns;
  for (;;) {
    const std::uint32_t seen = inbox.arrivals.load(std::memory_order_acquire);
    {
      const base::MutexLock lock(world_.mutex_);
      const auto found = inbox.by_tag.find(tag);
      if (found != inbox.by_tag.end()) {
        os::Descriptor first = std::move(found->second.front());
        found->second.pop_front();
        if (found->second.empty()) inbox.by_tag.erase(found);
        return first;
      }
    }
    GRAPNEL_TRY(health());
    if (host_.now_ns() >= give_up_ns) {
      return Status(Code::timed_out,
                    fmt::format("no descriptor with tag {:#x} for rank {} within 30 s", tag, index(rank_)));
    }
    host_.wait(inbox.arrivals, seen, kSlice_ns);
  }
}

void InprocLaunch::abort(int exit_code, const std::string& why) {
  int none = -1;
  world_.aborting_rank_.compare_exchange_strong(none, static_cast<int>(rank_));
  if (world_.options_.on_abort) world_.options_.on_abort(rank_, exit_code, why);
  base::log_error("rank {} aborts the job (exit code {}): {}", index(rank_), exit_code, why);
  std::abort();
}

}  // namespace grapnel::launch
