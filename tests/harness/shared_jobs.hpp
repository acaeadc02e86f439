// The tests of one world and shape share a job of processes: a job's start and end take ten times what a test does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/world.hpp"

namespace grapnel::test {

/// What became of one test in its job. `output` is what its ranks printed; where it did not end, all that the job did.
struct SharedOutcome {
  bool good = false;
  std::string output;
};

/// Runs the tests with these full names, in this order, as jobs of this executable over `transport`: one job where all
/// is well. What came after a failure in the same job may be its consequence: it runs again, in a job of its own kind.
/// A job that prints nothing for `silence` is ended.
std::map<std::string, SharedOutcome> run_shared_jobs(const char* transport, std::vector<std::string> names, Shape shape,
                                                     std::chrono::seconds silence);

/// What a rank of such a job does with the tests that GRAPNEL_TEST_BODY names. The exit code.
int run_as_rank(const std::vector<const WorldTest*>& bodies);

}  // namespace grapnel::test
