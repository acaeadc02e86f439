// SPDX-License-Identifier: Apache-2.0
#include "window/outcome.hpp"

#include <utility>

namespace grapnel::window {

Outcome::Outcome(Fault fault, std::string message)
    : failure_(std::make_unique<Failure>(Failure{fault, Code::invalid_argument, std::move(message)})) {}

Outcome::Outcome(const Status& status) {
  if (status.ok()) return;
  const Fault fault = status.code() == Code::refused ? Fault::range : Fault::failed;
  failure_ = std::make_unique<Failure>(Failure{fault, status.code(), status.message()});
}

}  // namespace grapnel::window
