// SPDX-License-Identifier: Apache-2.0
#include "transport/process_peers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/codec.hpp"

extern char** environ;

namespace grapnel::testing {
namespace {

constexpr const char* kPeerVariable = "GRAPNEL_TEST_PEER";
constexpr std::chrono::seconds kDeadline{60};

bool send_all(int socket, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(int socket, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
  return true;
}

bool send_blob(int socket, ByteView blob) {
  const std::uint64_t bytes = blob.size();
  return send_all(socket, base::bytes_of(bytes)) && send_all(socket, blob);
}

bool receive_blob(int socket, Bytes& blob) {
  std::uint64_t bytes = 0;
  if (!receive_all(socket, std::as_writable_bytes(std::span(&bytes, 1)))) return false;
  blob.resize(bytes);
  return receive_all(socket, blob);
}

class ProcessPeer final : public Peer {
 public:
  ProcessPeer(int index, int count, int socket, transport::Transport& transport)
      : index_(index), count_(count), socket_(socket), transport_(transport), host_(os::make_real_host()) {}

  int index() const override { return index_; }
  int count() const override { return count_; }
  transport::Transport& transport() override { return transport_; }
  os::Host& host() override { return *host_; }
  std::vector<Bytes> exchange(const Bytes& mine) override {
    std::vector<Bytes> all(static_cast<std::size_t>(count_));
    bool works = send_blob(socket_, mine);
    for (Bytes& blob : all) works = works && receive_blob(socket_, blob);
    EXPECT_TRUE(works) << "the test's process is gone";
    return all;
  }
  void die() override { ::kill(::getpid(), SIGKILL); }

 private:
  int index_;
  int count_;
  int socket_;
  transport::Transport& transport_;
  std::unique_ptr<os::Host> host_;
};

struct Child {
  pid_t pid = -1;
  int socket = -1;
  int output = -1;  ///< a memory file with what it printed
  bool gave = false;
  Bytes given;
};

// The environment of a peer: ours, with `settings` in place of what has the same names.
std::vector<std::string> environment_of_peer(const std::vector<std::string>& settings) {
  std::vector<std::string> result = settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string ours = *entry;
    const std::string name = ours.substr(0, ours.find('=') + 1);
    bool replaced = false;
    for (const std::string& setting : settings) replaced = replaced || setting.starts_with(name);
    if (!replaced) result.push_back(ours);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

std::string this_test() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return std::string(test->test_suite_name()) + "." + test->name();
}

class ProcessPeers final : public PeerGroup {
 public:
  ProcessPeers(TransportFactory factory, std::vector<std::string> settings)
      : factory_(std::move(factory)), settings_(std::move(settings)) {}

  void run(int count, const Body& body) override {
    ++runs_;
    if (const char* who = std::getenv(kPeerVariable)) {
      be_peer(who, body);
    } else {
      host_peers(count);
    }
  }

  bool peers_can_die() const override { return true; }

 private:
  // A test may run several times; a peer belongs to one of them and passes the others by.
  void be_peer(const char* who, const Body& body) {
    int index = 0;
    int count = 0;
    int socket = 0;
    int my_run = 0;
    ASSERT_EQ(std::sscanf(who, "%d of %d on %d run %d", &index, &count, &socket, &my_run), 4);
    if (runs_ != my_run) return;
    auto transport = factory_(index, count);
    ASSERT_TRUE(transport.ok()) << transport.status().to_string();
    ProcessPeer peer(index, count, socket, **transport);
    body(peer);
    ::close(socket);
  }

  void host_peers(int count) {
    std::vector<Child> children(static_cast<std::size_t>(count));
    for (int index = 0; index < count; ++index) start(children, index);
    carry(children);
    for (Child& child : children) {
      int status = 0;
      ::waitpid(child.pid, &status, 0);
      const bool killed_itself = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !timed_out_;
      const bool well = killed_itself || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
      EXPECT_TRUE(well) << "peer " << (&child - children.data()) << " ended with status " << status << "; it printed:\n"
                        << text_of(child.output);
      ::close(child.output);
      if (child.socket >= 0) ::close(child.socket);
    }
    EXPECT_FALSE(timed_out_) << "the peers took longer than " << kDeadline.count() << " s and were killed";
  }

  void start(std::vector<Child>& children, int index) {
    Child& child = children[static_cast<std::size_t>(index)];
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    child.socket = pair[0];
    child.output = ::memfd_create("peer-output", MFD_CLOEXEC);
    std::vector<std::string> arguments{"peer", "--gtest_filter=" + this_test(), "--gtest_brief=1", "--gtest_color=no"};
    std::vector<std::string> settings = settings_;
    settings.push_back(std::string(kPeerVariable) + "=" + std::to_string(index) + " of " +
                       std::to_string(children.size()) + " on " + std::to_string(pair[1]) + " run " +
                       std::to_string(runs_));
    std::vector<std::string> environment = environment_of_peer(settings);
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> envp = pointers(environment);
    child.pid = ::fork();
    ASSERT_GE(child.pid, 0);
    if (child.pid == 0) {
      ::fcntl(pair[1], F_SETFD, 0);
      ::dup2(child.output, STDOUT_FILENO);
      ::dup2(child.output, STDERR_FILENO);
      ::execve("/proc/self/exe", argv.data(), envp.data());
      ::_exit(127);
    }
    ::close(pair[1]);
  }

  // Carries the exchanges until every peer has closed its socket. A peer that is gone counts as having given nothing.
  void carry(std::vector<Child>& children) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    for (;;) {
      std::vector<pollfd> waiting;
      std::vector<Child*> owners;
      for (Child& child : children) {
        if (child.socket < 0 || child.gave) continue;
        waiting.push_back({.fd = child.socket, .events = POLLIN, .revents = 0});
        owners.push_back(&child);
      }
      if (waiting.empty() && !answer(children)) return;
      if (waiting.empty()) continue;
      ::poll(waiting.data(), waiting.size(), 1000);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].revents == 0) continue;
        owners[i]->gave = receive_blob(owners[i]->socket, owners[i]->given);
        if (owners[i]->gave) continue;
        ::close(std::exchange(owners[i]->socket, -1));
        owners[i]->given.clear();
      }
      if (std::chrono::steady_clock::now() > deadline) {
        timed_out_ = true;
        for (const Child& child : children) ::kill(child.pid, SIGKILL);
        return;
      }
    }
  }

  // All live peers have given: everyone gets everything. False when none lives.
  static bool answer(std::vector<Child>& children) {
    bool anyone = false;
    for (Child& to : children) {
      if (to.socket < 0) continue;
      anyone = true;
      for (const Child& from : children) send_blob(to.socket, from.given);
    }
    for (Child& child : children) child.gave = false;
    return anyone;
  }

  static std::string text_of(int file) {
    std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(file, 0, SEEK_END), 0)), '\0');
    const ssize_t bytes = ::pread(file, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return text;
  }

  TransportFactory factory_;
  std::vector<std::string> settings_;
  int runs_ = 0;
  bool timed_out_ = false;
};

}  // namespace

std::unique_ptr<PeerGroup> make_process_peers(TransportFactory factory, std::vector<std::string> settings) {
  return std::make_unique<ProcessPeers>(std::move(factory), std::move(settings));
}

}  // namespace grapnel::testing
