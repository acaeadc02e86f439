// What the world answers: a Status, or a Result that holds a value or a Status.
//
// The core throws nothing, but for `Result::value()` of a failure (std::bad_variant_access). A success is one null
// pointer, so that returning it from an 8-byte put costs nothing that can be measured; a failure carries a code and a
// sentence (what, where, which limit, what to do).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "grapnel/export.hpp"

namespace grapnel {

enum class Code {
  ok,
  invalid_argument,  ///< the caller's mistake: bad rank, negative size, address outside every segment
  no_memory,         ///< a reservation was refused; nothing was allocated
  unavailable,       ///< what was asked for does not exist here (no such transport, no launcher)
  timed_out,         ///< a deadline has passed: the caller's, or start-up's (30 and 60 s)
  peer_dead,         ///< a rank, a node's server or the launcher is gone; the job is ending
  refused,           ///< the other side checked the request and declined it
  system,            ///< the operating system or a library failed; the message holds its words
};

GRAPNEL_API const char* to_string(Code code);

class [[nodiscard]] [[gnu::visibility("default")]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other);
  Status(Status && other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) [[unlikely]]
      release();
  }

  bool ok() const { return failure_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const;
  const std::string& message() const;  ///< empty for ok
  /// "code: message", or "ok".
  std::string to_string() const;

 private:
  struct Failure {
    Code code;
    std::string message;
  };
  void release();
  Failure* failure_ = nullptr;
};

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Status failure) : content_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(content_); }
  const T& value() const& { return std::get<0>(content_); }
  T&& value() && { return std::get<0>(std::move(content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// The failure; ok() where there is a value.
  Status status() const { return ok() ? Status{} : std::get<1>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace grapnel

/// Returns the enclosing function's Status when `expression` failed.
#define GRAPNEL_TRY(expression)                                                                       \
  do {                                                                                                \
    if (::grapnel::Status grapnel_try_status = (expression); !grapnel_try_status.ok()) [[unlikely]] { \
      return grapnel_try_status;                                                                      \
    }                                                                                                 \
  } while (false)

/// `GRAPNEL_ASSIGN_OR_RETURN(const auto memory, allocate(64));` declares a variable with the value of a Result, or
/// returns the enclosing function's Status when it has none.
#define GRAPNEL_ASSIGN_OR_RETURN(variable, expression)         \
  auto GRAPNEL_JOIN(grapnel_result_, __LINE__) = (expression); \
  if (!GRAPNEL_JOIN(grapnel_result_, __LINE__)) [[unlikely]]   \
    return GRAPNEL_JOIN(grapnel_result_, __LINE__).status();   \
  variable = *std::move(GRAPNEL_JOIN(grapnel_result_, __LINE__))
#define GRAPNEL_JOIN(left, right) GRAPNEL_JOIN_EXPANDED(left, right)
#define GRAPNEL_JOIN_EXPANDED(left, right) left##right
