// A TCP server for the other leaders of a self-test: it takes blocks, and answers each with 8 bytes.
//
// A connection begins with the number that this node has published; it is answered with the number's complement. What
// begins otherwise is closed. Then: a length (64 bits), so many bytes, the answer; as often as the peer likes.
//
// Threads: one accepts, one serves each connection; all end with the server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"
#include "os/descriptor.hpp"

namespace grapnel::tool::selftest {

/// On a blocking socket that ends a wait after some seconds. False at its end, or in time.
bool send_all(const os::Descriptor& socket, ByteView bytes);
bool receive_all(const os::Descriptor& socket, ByteSpan bytes);
/// Small blocks leave at once, and no call waits for longer than some seconds.
void make_patient(const os::Descriptor& socket);

class EchoServer {
 public:
  /// At a port of UCX_TCP_PORT_RANGE where that is set. `loopback`: of this machine's processes only. Errors: system.
  static Result<std::unique_ptr<EchoServer>> open(bool loopback, std::uint64_t number, std::size_t longest_block);
  EchoServer(os::Descriptor listener, std::uint16_t port, std::uint64_t number, std::size_t longest_block);
  ~EchoServer();
  std::uint16_t port() const { return port_; }

 private:
  void accept_all();
  void serve(const os::Descriptor& socket) const;

  const os::Descriptor listener_;
  const std::uint16_t port_;
  const std::uint64_t number_;
  const std::size_t longest_block_;
  std::atomic<bool> ends_{false};
  std::thread acceptor_;
};

}  // namespace grapnel::tool::selftest
