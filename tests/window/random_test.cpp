// Random programs in every world, and many of them in simulated ones.
// SPDX-License-Identifier: Apache-2.0
#include "window/random_programs.hpp"

namespace grapnel::test {

WORLD_TEST(RandomWindows, AreAsTheirModels) { EXPECT_EQ(RandomProgram(g, world_seed()).play(), ""); }

}  // namespace grapnel::test
