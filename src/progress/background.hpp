// Work of a rank that goes on while the rank waits for something else: collectives that were started.
//
// A rank that waits inside the library may be awaited itself, by ranks that need its part in a started call. So each
// wait advances this work between two looks, and sleeps in short pieces as long as there is some.
// Threads: `advance` from any thread of the rank that waits, at any place where one waits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::progress {

class Background {
 public:
  /// As many steps as go without waiting: whether there were any. It waits for nothing, and touches no memory of the
  /// caller's that a page of the shared heap may hold.
  virtual bool advance() = 0;

 protected:
  ~Background() = default;
};

}  // namespace grapnel::progress
