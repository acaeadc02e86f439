// Tmk_malloc, Tmk_free, Tmk_distribute.
// SPDX-License-Identifier: Apache-2.0
#include "Tmk.h"
#include "api/tmk/job.hpp"

using namespace grapnel::tmk;

GRAPNEL_API void* Tmk_malloc(size_t bytes) {
  Job& job = job_of("Tmk_malloc");
  if (bytes == 0) return nullptr;
  const auto block = job.heap.allocate(bytes, {}, __builtin_return_address(0));
  if (block) return *block;
  if (block.status().code() != grapnel::Code::no_memory) must("Tmk_malloc", block.status());
  return nullptr;
}

GRAPNEL_API void Tmk_free(void* block) {
  Job& job = job_of("Tmk_free");
  if (block != nullptr) must("Tmk_free", job.heap.free(block));
}

GRAPNEL_API void Tmk_distribute(const void* object, size_t bytes) {
  must("Tmk_distribute", job_of("Tmk_distribute").distribution.publish(object, bytes));
}
