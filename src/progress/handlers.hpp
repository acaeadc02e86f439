// The server's table of handlers: what each layer above registers, by number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "grapnel/types.hpp"
#include "progress/message.hpp"

namespace grapnel::progress {

/// `done`: applied, and answered if an answer was wanted. `retry`: nothing that may not be done twice was done beyond
/// what `Request::resume` says; the origin's later requests wait behind this one, other origins continue.
enum class Outcome { done, refused, retry };

/// One request, checked for length, secret and origin. The views live until the handler returns; a retried request
/// gets them again.
class Request {
 public:
  Rank origin{};
  ByteView body;
  ByteView payload;
  std::size_t bulk_bytes = 0;  ///< of a payload that waits at its sender; `payload` is then empty
  std::uint64_t token = 0;
  std::uint64_t resume = 0;  ///< the handler's own mark of how far it came; 0 at first, kept over retries

  /// The handler's structure, copied out because a message may lie at any alignment. The server has checked the length
  /// against the table; what a shorter body leaves out is zero.
  template <typename T>
  T body_as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, body.data(), std::min(sizeof value, body.size()));
    return value;
  }

  /// Answers the request, once, before `done`. An answer that the request's charge does not cover is not sent, and the
  /// request counts as refused. `payload` stays untouched until `sent` (if any) is called or, where it
  /// is segment memory, as long as the segment lives. Longer than kMaxPayloadBytes it is sent as bulk: the client has
  /// named a place of that length.
  virtual void answer(ByteView body, ByteView payload, transport::Completion sent = {}) = 0;

 protected:
  ~Request() = default;
};

struct Handler {
  const char* name = "";
  std::size_t least_body_bytes = 0;
  std::size_t most_body_bytes = 0;
  bool answers = false;  ///< needs a token (a request without one is refused); else a token asks for an acknowledgement
  std::function<Outcome(Request&)> run;
  bool from_servers = false;  ///< takes what other servers send by themselves; its origin is then no rank
  /// The place of a bulk payload: memory of `bulk_bytes` that stays valid until `landed` is called, once; or none:
  /// refused. Null: the handler takes no bulk. It must have nothing to wait for.
  std::function<ByteSpan(Request&)> place = nullptr;
  std::function<void(ByteSpan place)> landed = nullptr;
};

class HandlerTable {
 public:
  /// Before the server starts. Every number once.
  void add(HandlerId id, Handler handler);
  /// Null where none is registered.
  const Handler* find(HandlerId id) const { return id < kHandlerLimit && handlers_[id].run ? &handlers_[id] : nullptr; }

 private:
  std::array<Handler, kHandlerLimit> handlers_;
};

}  // namespace grapnel::progress
