// A request as its handler sees it, inside the server.
#pragma once

#include "progress/server.hpp"

namespace grapnel::progress {

// One request in execution; its answer carries the counts as they will be when it is done.
class Server::Execution final : public Request {
 public:
  Execution(Server& server, Origin& origin_state, const RequestHeader& header)
      : server_(server), origin_state_(origin_state), header_(header) {}

  void answer(ByteView answer_body, ByteView answer_payload, transport::Completion sent) override {
    server_.reply(origin_state_, ReplyCode::answer, header_.token, origin_state_.handled + 1,
                  origin_state_.released + header_.charge, answer_body, answer_payload, sent);
  }

 private:
  Server& server_;
  Origin& origin_state_;
  const RequestHeader& header_;
};

}  // namespace grapnel::progress
