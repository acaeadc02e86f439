// A rank's node of the plain server over TCP sockets (limits/tcp_node.h), connected to those of all other ranks. A call
// that fails ends the job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "grapnel/runtime.hpp"

struct tcp_node;

namespace grapnel::bench {

inline constexpr std::uint32_t kPlainBytes = 1024;  ///< that a node shares

/// What every byte is that a rank's node shares.
inline std::byte shared_byte(std::size_t rank) { return static_cast<std::byte>(rank + 1); }

class PlainNode {
 public:
  /// Collective.
  explicit PlainNode(Runtime& g);

  void read(std::uint32_t from, void* to, std::size_t bytes);
  void read_all(void* to, std::size_t bytes);
  void barrier();
  std::uint64_t messages() const;

 private:
  struct Close {
    void operator()(tcp_node* node) const;
  };
  std::unique_ptr<tcp_node, Close> node_;
};

}  // namespace grapnel::bench
