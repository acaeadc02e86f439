// A test of several ranks, written once: what one rank does. The harness decides how the ranks exist.
//
//   WORLD_TEST(Put, ReachesTheNeighbour) {      // `g` is the rank's grapnel::Runtime
//     …
//     EXPECT_EQ(…);
//   }
//
// becomes one GoogleTest per world:
//   sim        threads under the seeded scheduler and a network that misbehaves, several seeds   (label sim);
//              the seed also chooses among the algorithms of a barrier
//   free       threads that really run side by side, for the thread sanitizer                    (label free)
//   processes  processes on one node, started by `grapnel run`
//   nodes      processes on virtual nodes, over UCX
//   local      processes on virtual nodes, over the local transport, in two shapes
//
// GRAPNEL_TEST_WORLDS (a comma list of these names) chooses; the ctest entries set it. GRAPNEL_TEST_SEED=s replays one
// seed. A world that hangs is ended: a simulated one prints what each rank was doing; processes are ended after
// GRAPNEL_TEST_DEADLINE_S (60) without a line, and show what they printed until then. With GRAPNEL_TEST_NATIVE=1 each
// job of nodes also asserts that the fabric puts and gets without messages. A failure names the rank. A job of
// processes that leaves one of them, or a file in shared memory or its TMPDIR, has failed (leftovers.hpp).
//
// Processes: the tests of one world and shape run one after another in one job, in one runtime (shared_jobs.hpp).
// GRAPNEL_TEST_ALONE=1 gives each a job of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "grapnel/runtime.hpp"

namespace grapnel::test {

struct Shape {
  int ranks = 1;
  int nodes = 1;
};

struct WorldTest {
  std::string suite, name;
  std::function<void(Runtime&)> body;
  std::vector<Shape> shapes;
  const char* file;
  int line;
  bool alone = false;  ///< in processes: not in a runtime that another test has used
};

/// Suite.Name
inline std::string full_name(const WorldTest& test) { return test.suite + "." + test.name; }

/// 1, 2, 3, 5, 8 ranks on 1, 2, 3, 5 nodes.
std::vector<Shape> all_shapes();
/// Only the shapes with `least_ranks` or more.
std::vector<Shape> shapes_from(int least_ranks);

bool add_world_test(WorldTest test);

/// GRAPNEL_TEST_NATIVE=1.
bool wants_native();

/// The seed of this run: the same in all ranks, different from run to run in simulated worlds.
std::uint64_t world_seed();
/// In the seeded simulator, where times are exact; elsewhere they are the machine's.
bool world_has_virtual_time();
/// Whether each rank is a process with pages of its own: not in seeded and free-running worlds.
bool world_has_page_tables();

/// How many messages of one kind ("put", "get", …) this rank has sent to other nodes.
std::uint64_t wire_messages(const Runtime& g, const std::string& operation);

/// What the harness gives a rank in `who` failed: for SCOPED_TRACE.
std::string rank_trace(const Runtime& g);

/// The caller's numbers, different in every rank and round, so that misplaced data shows.
inline std::uint64_t pattern(Rank rank, std::uint64_t round, std::uint64_t position) {
  return base::Random((static_cast<std::uint64_t>(rank) << 40) ^ (round << 20) ^ position).next();
}

}  // namespace grapnel::test

#define GRAPNEL_WORLD_TEST(Suite, Name, shapes, alone)                                               \
  static void world_body_##Suite##_##Name(::grapnel::Runtime& g);                                    \
  [[maybe_unused]] static const bool world_added_##Suite##_##Name = ::grapnel::test::add_world_test( \
      {#Suite, #Name, world_body_##Suite##_##Name, shapes, __FILE__, __LINE__, alone});              \
  static void world_body_##Suite##_##Name([[maybe_unused]] ::grapnel::Runtime& g)

#define WORLD_TEST_ON(Suite, Name, shapes) GRAPNEL_WORLD_TEST(Suite, Name, shapes, false)
/// For what counts from a runtime's start, or can be had once per runtime.
#define WORLD_TEST_ALONE_ON(Suite, Name, shapes) GRAPNEL_WORLD_TEST(Suite, Name, shapes, true)

#define WORLD_TEST(Suite, Name) WORLD_TEST_ON(Suite, Name, ::grapnel::test::all_shapes())
#define WORLD_TEST_ALONE(Suite, Name) WORLD_TEST_ALONE_ON(Suite, Name, ::grapnel::test::all_shapes())

/// For calls that must succeed.
#define EXPECT_OK(expression)                                           \
  do {                                                                  \
    const ::grapnel::Status expect_ok_status = (expression);            \
    EXPECT_TRUE(expect_ok_status.ok()) << expect_ok_status.to_string(); \
  } while (false)
#define ASSERT_OK(expression)                                           \
  do {                                                                  \
    const ::grapnel::Status expect_ok_status = (expression);            \
    ASSERT_TRUE(expect_ok_status.ok()) << expect_ok_status.to_string(); \
  } while (false)
#define EXPECT_CODE(code_wanted, expression) EXPECT_EQ((expression).code(), code_wanted)
