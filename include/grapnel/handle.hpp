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
/// new. An aggregate handle keeps puts, or gets, to one target and sends them together at `wait`.
class Handle {
 public:
  Handle() = default;
  static Handle aggregate() {
    Handle handle;
    handle.aggregates_ = true;
    return handle;
  }

 private:
  friend class HandleTable;
  std::uint32_t id_ = 0;  ///< 0: nothing started yet
  bool aggregates_ = false;
};

}  // namespace grapnel
