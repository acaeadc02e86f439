// A user's program under the address sanitizer, on a library that is not sanitized: writes to its neighbour and ends.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <grapnel/runtime.hpp>

int main() {
  auto started = grapnel::Runtime::start();
  if (!started) return std::printf("%s\n", started.status().to_string().c_str()), 1;
  grapnel::Runtime& g = **started;
  auto memory = g.allocate(sizeof(long));
  if (!memory) g.abort(1, memory.status().to_string());
  const grapnel::Rank right{(static_cast<int>(g.rank()) + 1) % g.size()};
  const long number = 7;
  if (auto put = g.put(&number, memory->on(right), sizeof number, right); !put) g.abort(1, put.to_string());
  if (auto all = g.barrier(); !all) g.abort(1, all.to_string());
  const bool good = *static_cast<const long*>(memory->local()) == number && g.finish().ok();
  if (good) std::puts("sanitized ok");
  return good ? 0 : 1;
}
