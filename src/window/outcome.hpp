// What a call of a window answers: success, or a fault and a sentence.
//
// A fault is one of the mistakes that one-sided interfaces distinguish, so that a front end can map it to its
// own errors. A success is one null pointer. Threads: as a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "grapnel/status.hpp"

namespace grapnel::window {

enum class Fault : std::uint8_t {
  none,
  synchronization,  ///< the call is not legal in the window's epoch
  rank,             ///< no such place in the window's group
  count,            ///< a layout, or the number of its copies, cannot be had
  type,             ///< an accumulate of elements of several types, or sides of different types or lengths
  operation,        ///< the operation does not exist for that type
  displacement,     ///< a negative displacement in a window that has a base
  range,            ///< the access leaves the target's memory, or the target's server refused it
  attach,           ///< memory that cannot be attached, or was not
  flavor,           ///< the call does not exist for a window that was made so
  failed            ///< none of these: `code` is the cause (peer_dead, no_memory, unavailable, …)
};

class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  Outcome(Fault fault, std::string message);
  /// What a layer below answered: `refused` is Fault::range, every other failure Fault::failed.
  Outcome(const Status& status);

  bool ok() const { return failure_ == nullptr; }
  Fault fault() const { return ok() ? Fault::none : failure_->fault; }
  /// ok; of Fault::failed what the layer below answered; else invalid_argument.
  Code code() const { return ok() ? Code::ok : failure_->code; }
  std::string message() const { return ok() ? std::string() : failure_->message; }
  /// As a Status, for callers that need no fault.
  Status status() const { return ok() ? Status() : Status(failure_->code, failure_->message); }

 private:
  struct Failure {
    Fault fault;
    Code code;
    std::string message;
  };
  std::unique_ptr<Failure> failure_;
};

}  // namespace grapnel::window

/// Returns the enclosing function's Outcome when `expression`, a Status or an Outcome, failed.
#define GRAPNEL_WINDOW_TRY(expression)                                                                                 \
  do {                                                                                                                 \
    if (::grapnel::window::Outcome grapnel_window_outcome = (expression); !grapnel_window_outcome.ok()) [[unlikely]] { \
      return grapnel_window_outcome;                                                                                   \
    }                                                                                                                  \
  } while (false)
