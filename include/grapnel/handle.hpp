// The small words of an operation: a piece of a vector, a word's width, the handle of what was started.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapnel {

enum class Width { bits32, bits64 };

/// One piece of a vector operation: `bytes` at `local` here and at `remote` in the target.
struct Piece {
  void* local = nullptr;
  void* remote = nullptr;
  std::size_t bytes = 0;
};

/// Names nonblocking operations that one waits for together. Started operations join it until `wait`; then it is as
/// new. An aggregate handle keeps puts, or gets, to one target and sends them together at `wait`. A copy names the same
/// operations; once one of the copies was waited for, the others name nothing.
class Handle {
 public:
  Handle() = default;
  static Handle aggregate() {
    Handle handle;
    handle.aggregates_ = true;
    return handle;
  }
  /// From now on started puts and gets are kept, or are not. What was started before stays joined.
  void set_aggregating(bool keeps) { aggregates_ = keeps; }

 private:
  friend class HandleTable;
  std::uint32_t id_ = 0;          ///< 0: nothing started yet
  std::uint32_t generation_ = 0;  ///< of the id, so that a copy that was left behind names nothing
  bool aggregates_ = false;
};

}  // namespace grapnel
