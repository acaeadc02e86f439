// One rank of the run tests: `probe check` examines everything that a launch promises; the other words make a rank
// behave in one way and wait there for what the test does to it.
//
//   check                       all of it; "probe ok" from every rank
//   stay sleep|compute|fence|health   "ready RANK PID", then that for ever (health: until it fails, then sleep)
//   exit RANK CODE              that rank exits after joining, without leaving the job; the others sleep
//   abort RANK CODE             that rank aborts the job; the others sleep
#include <cstdlib>
#include <string>

#include "launch/launch.hpp"
#include "launch/probe_parts.hpp"

int main(int argc, char** argv) {
  using namespace grapnel;
  const std::string word = argc > 1 ? argv[1] : "check";
  const auto host = os::make_real_host();
  const auto config = base::Config::from_environment();
  probe::need(config.status(), "configuration");
  auto joined = launch::join(*config, *host);
  probe::need(joined.status(), "join");
  launch::Launch& launch = **joined;
  if (word == "stay") probe::stay(launch, argc > 2 ? argv[2] : "sleep");
  if (word == "exit" || word == "abort") {
    probe::end_badly(launch, word == "abort", std::atoi(argv[2]), std::atoi(argv[3]));
  }
  probe::check(launch);
  probe::need(launch.finalize(), "finalize");
  return 0;
}
