// The launcher's end of one rank's socket: lines and bytes in, answers out, and never a wait.
//
// Input is not trusted: a line without an end is bounded, and no request is read while an answer is not
// taken, so a rank can fill its own socket and nothing of the launcher's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "grapnel/types.hpp"
#include "os/descriptor.hpp"

namespace grapnel::tool {

class PmiConnection {
 public:
  /// A file that goes to several ranks.
  using File = std::shared_ptr<const os::Descriptor>;

  explicit PmiConnection(os::Descriptor socket) : socket_(std::move(socket)) {}

  int number() const { return socket_.number(); }
  bool open() const { return socket_.valid(); }
  /// The rank sees the end. What it had sent and the launcher has not read is gone.
  void close();

  /// Takes a piece of what has come. False when nothing more will come.
  bool read();
  /// More is there to be read at once.
  bool more_to_read() const { return filled_; }
  /// The next line, without its newline.
  std::optional<std::string> next_line();
  /// The next `count` bytes, once all of them are there.
  std::optional<Bytes> next_bytes(std::size_t count);
  /// Bytes that came and were not asked for yet.
  std::size_t unread() const { return in_.size() - taken_; }

  void answer(std::string line, File file = nullptr);
  /// Some of the answers wait for room in the socket.
  bool blocked() const { return !out_.empty(); }
  /// Sends what there is room for. False when the rank's end is closed.
  bool flush();

 private:
  struct Out {
    std::string bytes;
    File file;
  };
  bool send(Out& out);

  os::Descriptor socket_;
  std::string in_;
  std::size_t taken_ = 0;  ///< bytes of `in_` that were asked for
  bool filled_ = false;
  std::deque<Out> out_;
};

}  // namespace grapnel::tool
