// SPDX-License-Identifier: Apache-2.0
#include "window/outcome.hpp"

#include <utility>

namespace grapnel::window {

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::synchronization: return "synchronization";
    case Fault::rank: return "rank";
    case Fault::count: return "count";
    case Fault::type: return "type";
    case Fault::operation: return "operation";
    case Fault::displacement: return "displacement";
    case Fault::range: return "range";
    case Fault::attach: return "attach";
    case Fault::flavor: return "flavor";
    case Fault::failed: return "failed";
  }
  return "unknown";
}

Outcome::Outcome(Fault fault, std::string message)
    : failure_(std::make_unique<Failure>(Failure{fault, Code::invalid_argument, std::move(message)})) {}

Outcome::Outcome(const Status& status) {
  if (status.ok()) return;
  const Fault fault = status.code() == Code::refused ? Fault::range : Fault::failed;
  failure_ = std::make_unique<Failure>(Failure{fault, status.code(), status.message()});
}

}  // namespace grapnel::window
