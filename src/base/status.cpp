// SPDX-License-Identifier: Apache-2.0
#include "grapnel/status.hpp"

#include "base/check.hpp"

namespace grapnel {

const char* to_string(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid argument";
    case Code::no_memory: return "no memory";
    case Code::unavailable: return "unavailable";
    case Code::timed_out: return "timed out";
    case Code::peer_dead: return "peer dead";
    case Code::refused: return "refused";
    case Code::system: return "system error";
  }
  return "unknown code";
}

Status::Status(Code code, std::string message) : failure_(new Failure{code, std::move(message)}) {
  GRAPNEL_CHECK(code != Code::ok, "a failure needs a code");
}

Status::Status(const Status& other) : failure_(other.failure_ ? new Failure(*other.failure_) : nullptr) {}

void Status::release() { delete failure_; }

Code Status::code() const { return failure_ ? failure_->code : Code::ok; }

const std::string& Status::message() const {
  static const std::string none;
  return failure_ ? failure_->message : none;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(grapnel::to_string(failure_->code)) + ": " + failure_->message;
}

}  // namespace grapnel
