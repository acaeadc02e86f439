// What the operations share: their arguments in MPI's order of checks, and their layouts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <cstdint>
#include <string>

#include "api/mpi/errors.hpp"
#include "api/mpi/types.hpp"
#include "window/window.hpp"

namespace grapnel::front {

/// One side of an operation as the program names it.
struct Buffer {
  const void* address = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// The target's side.
struct Target {
  int rank = 0;
  std::int64_t at = 0;  ///< displacement
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// The first mistake in an operation's arguments, with the sentence.
struct Mistake {
  int error_class = MPI_SUCCESS;
  std::string text;
};

/// Keeps the first mistake that a check finds.
class ArgumentCheck {
 public:
  explicit ArgumentCheck(const Taken& taken) : taken_(taken) {}

  ArgumentCheck& count(const char* name, std::int64_t value) {
    if (value < 0) found(MPI_ERR_COUNT, "{} is {}; it may not be negative", name, value);
    return *this;
  }
  ArgumentCheck& layout(const char* name, const window::Layout* value) {
    if (value == nullptr) found(MPI_ERR_TYPE, "{} is no datatype that holds data", name);
    return *this;
  }
  ArgumentCheck& rank(int value) {
    if (value < 0 || value >= taken_.window->size()) {
      found(MPI_ERR_RANK, "target_rank is {}; the window has ranks 0..{}", value, taken_.window->size() - 1);
    }
    return *this;
  }
  ArgumentCheck& displacement(std::int64_t value) {
    const bool has_base = taken_.window->flavor() != window::Flavor::dynamic;
    if (has_base && value < 0) found(MPI_ERR_DISP, "target_disp is {}; it may not be negative", value);
    return *this;
  }
  template <typename... Values>
  ArgumentCheck& holds(bool condition, int error_class, fmt::format_string<Values...> text, Values&&... values) {
    if (!condition) found(error_class, text, std::forward<Values>(values)...);
    return *this;
  }

  bool ok() const { return mistake_.error_class == MPI_SUCCESS; }
  int raise(const char* call) const { return front::raise(taken_, call, mistake_.error_class, mistake_.text); }

 private:
  template <typename... Values>
  [[gnu::cold]] void found(int error_class, fmt::format_string<Values...> text, Values&&... values) {
    if (ok()) mistake_ = {error_class, fmt::format(text, std::forward<Values>(values)...)};
  }

  const Taken& taken_;
  Mistake mistake_;
};

inline window::Side side_of(const Buffer& buffer, const window::Layout* layout) {
  return {const_cast<void*>(buffer.address), layout, buffer.count};
}

}  // namespace grapnel::front
