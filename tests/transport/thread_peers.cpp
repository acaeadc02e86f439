// SPDX-License-Identifier: Apache-2.0
#include "transport/thread_peers.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace grapnel::testing {
namespace {

// A meeting that every peer attends, again and again; round k's blobs are kept until all have read them.
class Meeting {
 public:
  explicit Meeting(int count) : count_(count), given_(static_cast<std::size_t>(count)) {}

  std::vector<Bytes> exchange(int index, const Bytes& mine) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return readers_ == 0; });
    given_[static_cast<std::size_t>(index)] = mine;
    const int round = round_;
    if (++arrived_ == count_) {
      arrived_ = 0;
      readers_ = count_;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
    auto all = given_;
    if (--readers_ == 0) changed_.notify_all();
    return all;
  }

 private:
  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bytes> given_;
  int arrived_ = 0;
  int readers_ = 0;
  int round_ = 0;
};

class ThreadPeer final : public Peer {
 public:
  ThreadPeer(Meeting& meeting, int index, int count, transport::Transport& transport)
      : meeting_(meeting), index_(index), count_(count), transport_(transport), host_(os::make_real_host()) {}

  int index() const override { return index_; }
  int count() const override { return count_; }
  transport::Transport& transport() override { return transport_; }
  os::Host& host() override { return *host_; }
  std::vector<Bytes> exchange(const Bytes& mine) override { return meeting_.exchange(index_, mine); }
  void die() override { ADD_FAILURE() << "a thread cannot be killed alone"; }

 private:
  Meeting& meeting_;
  int index_;
  int count_;
  transport::Transport& transport_;
  std::unique_ptr<os::Host> host_;
};

class ThreadPeers final : public PeerGroup {
 public:
  explicit ThreadPeers(TransportFactory factory) : factory_(std::move(factory)) {}

  void run(int count, const Body& body) override {
    Meeting meeting(count);
    std::vector<std::unique_ptr<transport::Transport>> transports;
    for (int index = 0; index < count; ++index) {
      auto transport = factory_(index, count);
      ASSERT_TRUE(transport.ok()) << transport.status().to_string();
      transports.push_back(std::move(*transport));
    }
    std::vector<std::thread> threads;
    for (int index = 0; index < count; ++index) {
      threads.emplace_back([&, index] {
        ThreadPeer peer(meeting, index, count, *transports[static_cast<std::size_t>(index)]);
        body(peer);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  bool peers_can_die() const override { return false; }

 private:
  TransportFactory factory_;
};

}  // namespace

std::unique_ptr<PeerGroup> make_thread_peers(TransportFactory factory) {
  return std::make_unique<ThreadPeers>(std::move(factory));
}

}  // namespace grapnel::testing
