// Random programs without races, in all worlds (random_programs.hpp). Processes play several in one job, and as many as
// GRAPNEL_DSM_PROGRAMS says in the soak.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "dsm/random_programs.hpp"

namespace grapnel::test {
namespace {

std::uint64_t programs_of_a_job() {
  if (world_has_virtual_time()) return 1;
  const char* const text = std::getenv("GRAPNEL_DSM_PROGRAMS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 4;
}

}  // namespace

HEAP_TEST(Random, ProgramsWithoutRacesReadWhatTheyShould) {
  SmallHeap h(g);
  for (std::uint64_t i = 0; i < programs_of_a_job(); ++i) {
    ASSERT_EQ(random_programs::play(h, world_seed() + i), "") << "program " << world_seed() + i;
  }
}

}  // namespace grapnel::test
