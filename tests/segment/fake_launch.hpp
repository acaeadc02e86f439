// A job of threads for the tests of this folder: node map, node memory, pools, descriptors and an exchange.
//
// Faults can be planted in a rank: the next descriptor that it should send gets lost with an error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "exchange/exchange.hpp"
#include "launch/group.hpp"
#include "launch/launch.hpp"
#include "os/shared_memory.hpp"
#include "segment/segment.hpp"

namespace grapnel::test {

struct FakeNode {
  os::Mapping memory;
  std::unique_ptr<os::AddressPool> pool;
};

/// What the ranks share. Groups meet by their keys.
class FakeWorld {
 public:
  FakeWorld(int ranks, int nodes, std::size_t pool_bytes = std::size_t{8} << 30)
      : node_map_(launch::make_node_map(std::vector<std::string>(static_cast<std::size_t>(ranks), "machine"), nodes)) {
    for (std::size_t node = 0; node < node_map_.node_count(); ++node) {
      const std::size_t bytes = 16 * base::kMiB;
      auto file = os::create_shared_file("fake-node", bytes);
      shares_.push_back({*os::Mapping::create(*file, bytes), *os::AddressPool::reserve(0, pool_bytes)});
    }
  }

  const launch::NodeMap& node_map() const { return node_map_; }
  FakeNode& node(NodeId id) { return shares_[index(id)]; }

  std::vector<Bytes> allgather(const launch::Group& group, ByteView mine) {
    std::unique_lock lock(mutex_);
    Meeting& meeting = meetings_[group.key];
    meeting.arriving.resize(group.size());
    meeting.arriving[group.my_index].assign(mine.begin(), mine.end());
    const int round = meeting.round;
    if (++meeting.arrived == group.size()) {
      meeting.complete = std::exchange(meeting.arriving, {});
      meeting.arrived = 0;
      ++meeting.round;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return meeting.round != round; });
    return meeting.complete;  // the next round cannot end before this rank has begun it
  }

  void post(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) {
    const std::lock_guard lock(mutex_);
    descriptors_[{to, tag}] = os::Descriptor(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, 0));
    changed_.notify_all();
  }
  Result<os::Descriptor> take(Rank to, std::uint64_t tag) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return descriptors_.count({to, tag}) > 0; };
    if (!changed_.wait_for(lock, std::chrono::milliseconds(500), there)) {
      return Status(Code::timed_out, "no descriptor came");
    }
    return std::move(descriptors_.extract({to, tag}).mapped());
  }

 private:
  struct Meeting {
    std::vector<Bytes> arriving, complete;
    std::size_t arrived = 0;
    int round = 0;
  };
  const launch::NodeMap node_map_;
  std::vector<FakeNode> shares_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Meeting> meetings_;
  std::map<std::pair<Rank, std::uint64_t>, os::Descriptor> descriptors_;
};

class FakeLaunch final : public launch::Launch, public exchange::Exchange {
 public:
  FakeLaunch(FakeWorld& world, Rank rank)
      : world_(world),
        rank_(rank),
        memory_(ByteSpan(static_cast<std::byte*>(world.node(node_of(rank)).memory.address()),
                         world.node(node_of(rank)).memory.bytes())) {}

  bool lose_next_descriptor = false;
  int exchanges = 0;

  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(nodes().node_of.size()); }
  const launch::NodeMap& nodes() const override { return world_.node_map(); }
  std::uint64_t job_secret() const override { return 1; }
  std::string description() const override { return "fake"; }
  Status publish(std::string_view, ByteView) override { return Status(Code::unavailable, "fake"); }
  Status fence() override { return Status(Code::unavailable, "fake"); }
  Result<Bytes> lookup(Rank, std::string_view) override { return Status(Code::unavailable, "fake"); }
  launch::NodeMemory& node_memory() override { return memory_; }
  os::AddressPool& pool() override { return *world_.node(node_of(rank_)).pool; }
  Status send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) override {
    if (std::exchange(lose_next_descriptor, false)) return Status(Code::system, "a planted fault");
    EXPECT_EQ(node_of(to), node_of(rank_)) << "descriptors stay in a node";
    world_.post(to, tag, descriptor);
    return {};
  }
  Result<os::Descriptor> receive_descriptor(std::uint64_t tag) override { return world_.take(rank_, tag); }
  Status health() override { return {}; }
  [[noreturn]] void abort(int, const std::string&) override { std::abort(); }
  Status finalize() override { return {}; }

  Result<std::vector<Bytes>> allgather(const launch::Group& group, ByteView mine) override {
    ++exchanges;
    return world_.allgather(group, mine);
  }

 private:
  NodeId node_of(Rank rank) const { return world_.node_map().node_of[index(rank)]; }

  FakeWorld& world_;
  const Rank rank_;
  launch::NodeMemory memory_;
};

/// Runs `body` as every rank of the world, each in a thread of its own.
template <typename Body>
void run_ranks(FakeWorld& world, Body body) {
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < world.node_map().node_of.size(); ++rank) {
    threads.emplace_back([&world, &body, rank] {
      FakeLaunch launch(world, Rank{static_cast<std::int32_t>(rank)});
      body(launch);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace grapnel::test
