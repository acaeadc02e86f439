// A request as its handler sees it, inside the server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress/server.hpp"

namespace grapnel::progress {

// One request in execution; its answer carries the counts as they will be when it is done.
class Server::Execution final : public Request {
 public:
  Execution(Server& server, Origin& origin_state, const RequestHeader& header)
      : server_(server), origin_state_(origin_state), header_(header) {}

  void answer(ByteView answer_body, ByteView answer_payload, transport::Completion sent) override {
    if (charge_of(answer_payload.size()) > header_.charge) [[unlikely]]
      return overdraw(sent);
    server_.reply(origin_state_, ReplyCode::answer, header_.token, header_.charge, origin_state_.handled + 1,
                  origin_state_.released + header_.charge, answer_body, answer_payload, sent);
  }
  /// The handler's answer was longer than the request's charge allows, and was not sent.
  bool is_overdrawn() const { return overdrawn_; }

 private:
  [[gnu::cold, gnu::noinline]] void overdraw(transport::Completion sent) {
    overdrawn_ = true;
    if (sent.notify != nullptr) sent.notify(sent.context, Status(Code::refused, "the charge does not cover it"));
  }

  Server& server_;
  Origin& origin_state_;
  const RequestHeader& header_;
  bool overdrawn_ = false;
};

}  // namespace grapnel::progress
