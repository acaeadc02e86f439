// A job's rank for the tests over an RDMA device: allocates so much memory in each rank, and prints what came of it.
//
//   rdma_probe BYTES
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "grapnel/runtime.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: rdma_probe BYTES\n");
    return 2;
  }
  auto started = grapnel::Runtime::start();
  if (!started) {
    std::printf("start: %s\n", started.status().to_string().c_str());
    return 1;
  }
  grapnel::Runtime& g = **started;
  const auto memory = g.allocate(std::strtoull(argv[1], nullptr, 10));
  std::printf("allocate: %s\n", memory.status().to_string().c_str());
  if (memory && !g.free(*memory).ok()) return 1;
  return g.finish().ok() ? 0 : 1;
}
