// The listening side of a worker: a socket with a random name in the abstract namespace, and the connections that have
// not said hello yet.
//
// Threads: the owning worker's.
// Invariants: (1) A connection of another user's process is closed before one byte of it is read. (2) At most
// kMostUnknown connections wait for their hello, each at most kHelloLimit_ns; a newer one closes the oldest. So peers
// that connect and send nothing cost a bounded number of descriptors. (3) Without descriptors the listener is left
// alone for kPause_ns at a time: the event loop neither spins nor stops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>

#include "base/units.hpp"
#include "os/descriptor.hpp"
#include "transport/local/local_frame.hpp"

namespace grapnel::transport::local {

class Door {
 public:
  static constexpr std::size_t kMostUnknown = 16;
  static constexpr std::uint64_t kHelloLimit_ns = 30 * base::kSecond_ns;
  static constexpr std::uint64_t kPause_ns = 10 * base::kMillisecond_ns;

  /// Takes a connection whose hello was right.
  using Admit = std::function<void(os::Descriptor socket)>;

  Door(std::uint64_t secret, Admit admit) : secret_(secret), admit_(std::move(admit)) {}

  /// Errors: system.
  Status open(int epoll);
  /// The socket's name; connections are accepted from the first call on.
  const std::string& name();

  /// The listener is readable. True when a connection was accepted or rejected.
  bool accept();
  /// The unknown connection in that slot is readable.
  void hear(std::size_t slot);
  /// Whether `tend` must be called now and then.
  bool has_deadlines() const { return unknown_ > 0 || paused_until_ns_ > 0; }
  /// Closes what has waited too long; listens again after a pause.
  void tend();

  std::uint64_t rejected() const { return rejected_; }

 private:
  struct Unknown {
    os::Descriptor socket;
    std::uint64_t arrived_ns = 0;
    int process = 0;
    std::size_t received = 0;
    std::array<std::byte, kHelloBytes> hello;
  };

  /// Reads on; closes or admits it where that is decided. False: more must come.
  bool decide(Unknown& unknown);
  Unknown& free_slot();
  void close_oldest(const char* why);
  void close(Unknown& unknown);
  void reject(const char* why, int process, unsigned user);
  void pause(int error);
  bool watch_listener(std::uint32_t events, int operation);

  const std::uint64_t secret_;
  const Admit admit_;
  int epoll_ = -1;
  std::string name_;
  os::Descriptor listener_;
  bool listening_ = false;
  std::array<Unknown, kMostUnknown> slots_;
  std::size_t unknown_ = 0;            ///< slots in use
  std::uint64_t paused_until_ns_ = 0;  ///< 0: not paused
  std::uint64_t rejected_ = 0;
  std::uint64_t pauses_ = 0;
};

}  // namespace grapnel::transport::local
