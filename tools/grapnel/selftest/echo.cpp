// SPDX-License-Identifier: Apache-2.0
#include "selftest/echo.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "base/codec.hpp"
#include "os/limits.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr int kMostConnections = 64;
constexpr int kBetweenLooks_ms = 50;
constexpr long kPatience_s = 5;

// UCX_TCP_PORT_RANGE, as UCX takes it: "first-last".
std::pair<int, int> ports() {
  int first = 0, last = 0;
  const char* const range = std::getenv("UCX_TCP_PORT_RANGE");
  if (range == nullptr || std::sscanf(range, "%d-%d", &first, &last) != 2 || first < 1 || last > 65535) return {0, 0};
  return {first, last};
}

bool bind_to(const os::Descriptor& socket, bool loopback, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  return ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
}

}  // namespace

bool send_all(const os::Descriptor& socket, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(const os::Descriptor& socket, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket.number(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

void make_patient(const os::Descriptor& socket) {
  const int yes = 1;
  const timeval patience{kPatience_s, 0};
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Result<std::unique_ptr<EchoServer>> EchoServer::open(bool loopback, std::uint64_t number, std::size_t longest_block) {
  os::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto [first, last] = ports();
  int port = first;
  while (socket.valid() && !bind_to(socket, loopback, port) && port < last) ++port;
  sockaddr_in place{};
  socklen_t bytes = sizeof place;
  if (!socket.valid() || ::listen(socket.number(), kMostConnections) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&place), &bytes) != 0) {
    return Status(Code::system, fmt::format("cannot listen at a TCP port: {}", os::error_words(errno)));
  }
  return std::make_unique<EchoServer>(std::move(socket), ntohs(place.sin_port), number, longest_block);
}

EchoServer::EchoServer(os::Descriptor listener, std::uint16_t port, std::uint64_t number, std::size_t longest_block)
    : listener_(std::move(listener)), port_(port), number_(number), longest_block_(longest_block), acceptor_([this] {
        accept_all();
      }) {}

EchoServer::~EchoServer() {
  ends_.store(true);
  acceptor_.join();
}

void EchoServer::accept_all() {
  std::vector<os::Descriptor> sockets;
  std::vector<std::thread> threads;
  sockets.reserve(kMostConnections);  // a thread keeps a reference
  while (!ends_.load()) {
    pollfd entry{listener_.number(), POLLIN, 0};
    if (sockets.size() == kMostConnections || ::poll(&entry, 1, kBetweenLooks_ms) <= 0) {
      if (sockets.size() == kMostConnections) ::poll(nullptr, 0, kBetweenLooks_ms);
      continue;
    }
    os::Descriptor accepted(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted.valid()) continue;
    const os::Descriptor& socket = sockets.emplace_back(std::move(accepted));
    threads.emplace_back([this, &socket] { serve(socket); });
  }
  for (const os::Descriptor& socket : sockets) ::shutdown(socket.number(), SHUT_RDWR);
  for (std::thread& thread : threads) thread.join();
}

void EchoServer::serve(const os::Descriptor& socket) const {
  make_patient(socket);
  std::uint64_t number = 0;
  if (!receive_all(socket, std::as_writable_bytes(std::span(&number, 1))) || number != number_) {
    ::shutdown(socket.number(), SHUT_RDWR);
    return;
  }
  const std::uint64_t answer = ~number;
  Bytes block(longest_block_);
  for (bool goes_on = send_all(socket, base::bytes_of(answer)); goes_on;) {
    std::uint64_t length = 0;
    goes_on = receive_all(socket, std::as_writable_bytes(std::span(&length, 1))) && length <= longest_block_ &&
              receive_all(socket, ByteSpan(block).first(length)) && send_all(socket, base::bytes_of(answer));
  }
}

}  // namespace grapnel::tool::selftest
