// The first program: every rank writes a number into its right neighbour's memory. The neighbour does nothing for it.
//
//   grapnel run -n 4 -- first                 four ranks that share memory
//   grapnel run -n 4 --nodes 2 -- first       two nodes of two: what crosses goes over the wire
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "grapnel/runtime.hpp"

using grapnel::Rank;

namespace {

int run(grapnel::Runtime& g) {
  // Collective: eight zeroed bytes in every rank. `on` tells where they are in each of them.
  auto memory = g.allocate(sizeof(double));
  if (!memory) g.abort(1, memory.status().to_string());

  // Write into the neighbour. The address is the neighbour's; it only names the place.
  const int me = static_cast<int>(g.rank());
  const Rank right{(me + 1) % g.size()};
  const double message = 100 + me;
  if (auto put = g.put(&message, memory->on(right), sizeof message, right); !put) g.abort(1, put.to_string());

  // After the barrier every put of every rank is complete, so my own memory has what my left neighbour wrote.
  if (auto all = g.barrier(); !all) g.abort(1, all.to_string());
  const double received = *static_cast<const double*>(memory->local());
  const double expected = 100 + (me + g.size() - 1) % g.size();
  std::printf("rank %d of %d on node %d received %g\n", me, g.size(), static_cast<int>(g.node()), received);
  std::fflush(stdout);

  if (auto freed = g.free(*memory); !freed) g.abort(1, freed.to_string());
  return received == expected ? 0 : 1;
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
