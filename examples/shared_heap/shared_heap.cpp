// The shared heap: memory at one address in all ranks, read and written as any other. Ranks add to one sum under a
// lock, and fill a table in parts; after a barrier all ranks read both, and rank 0 prints what it found.
//
//   grapnel run -n 4 --nodes 2 -- shared_heap
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "grapnel/runtime.hpp"

namespace {

constexpr int kRows = 1000;

struct Shared {
  long sum;
  double squares[kRows];
};

int run(grapnel::Runtime& g) {
  const auto must = [&g](const grapnel::Status& status) {
    if (!status) g.abort(1, status.to_string());
  };
  auto opened = g.open_shared_heap();  // collective
  must(opened.status());
  grapnel::SharedHeap heap = *opened;
  const int me = static_cast<int>(g.rank());

  // One rank allocates; the address is good in all ranks, and what lies there is zero.
  Shared* shared = nullptr;
  if (me == 0) {
    auto memory = heap.allocate(sizeof(Shared));
    must(memory.status());
    shared = static_cast<Shared*>(*memory);
  }
  must(g.broadcast(&shared, sizeof shared, grapnel::Rank{0}));

  // One rank at a time adds; each sees what those before it wrote.
  must(heap.lock(0));
  for (int number = me; number < kRows; number += g.size()) shared->sum += number;
  must(heap.unlock(0));

  // Each element is one rank's, so no lock is needed; two ranks may write to one page at once.
  for (int row = me; row < kRows; row += g.size()) shared->squares[row] = static_cast<double>(row) * row;

  // After the barrier each rank sees what any wrote.
  must(heap.barrier());
  int wrong = 0;
  for (int row = 0; row < kRows; ++row) wrong += shared->squares[row] != static_cast<double>(row) * row;
  if (me == 0) std::printf("the sum is %ld; %d of %d squares are wrong\n", shared->sum, wrong, kRows);
  std::fflush(stdout);
  return shared->sum == kRows * (kRows - 1) / 2 && wrong == 0 ? 0 : 1;
}

}  // namespace

int main() {
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  const int code = run(**started);
  return (*started)->finish() ? code : 1;
}
