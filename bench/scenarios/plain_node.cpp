// SPDX-License-Identifier: Apache-2.0
#include "scenarios/plain_node.hpp"

#include <cerrno>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "limits/tcp_node.h"
#include "session.hpp"

namespace grapnel::bench {
namespace {

struct Invitation {
  std::uint64_t token;
  std::uint16_t port;
};

void must_do(int outcome, const char* doing) {
  if (outcome == 0) return;
  fail(Status(Code::system, std::string("the plain server cannot ") + doing + ": " + std::strerror(errno)));
}

}  // namespace

PlainNode::PlainNode(Runtime& g) {
  const auto ranks = static_cast<std::uint32_t>(g.size());
  std::random_device random;
  Invitation mine{std::uint64_t{random()} << 32 | random(), 0};
  node_.reset(tcp_node_open(static_cast<std::uint32_t>(index(g.rank())), ranks, kPlainBytes, &mine.port));
  must_do(node_ ? 0 : -1, "listen");
  std::memset(tcp_node_memory(node_.get()), std::to_integer<int>(shared_byte(index(g.rank()))), kPlainBytes);
  const auto all = g.allgather(g.world(), std::as_bytes(std::span(&mine, 1)));
  if (!all) fail(all.status());
  std::vector<std::uint16_t> ports;
  Invitation first{};
  for (const Bytes& one : *all) {
    Invitation theirs{};
    std::memcpy(&theirs, one.data(), sizeof theirs);
    if (ports.empty()) first = theirs;
    ports.push_back(theirs.port);
  }
  must_do(tcp_node_connect(node_.get(), ports.data(), first.token), "connect");
}

void PlainNode::Close::operator()(tcp_node* node) const { tcp_node_close(node); }

void PlainNode::read(std::uint32_t from, void* to, std::size_t bytes) {
  must_do(tcp_node_read(node_.get(), from, to, static_cast<std::uint32_t>(bytes)), "read");
}

void PlainNode::read_all(void* to, std::size_t bytes) {
  must_do(tcp_node_read_all(node_.get(), to, static_cast<std::uint32_t>(bytes)), "read from all");
}

void PlainNode::barrier() { must_do(tcp_node_barrier(node_.get()), "pass a barrier"); }

std::uint64_t PlainNode::messages() const { return tcp_node_messages(node_.get()); }

}  // namespace grapnel::bench
