// SPDX-License-Identifier: Apache-2.0
#include "binding.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace grapnel::bench {
namespace {

void check(int outcome, const char* doing) {
  if (outcome == 0) return;
  fmt::print(stderr, "grapnel-bench: cannot {}: {}\n", doing, std::strerror(errno));
  std::exit(1);
}

std::vector<int> usable_processors() {
  cpu_set_t mask;
  check(::sched_getaffinity(0, sizeof mask, &mask), "read the processors of this process");
  std::vector<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) processors.push_back(cpu);
  }
  return processors;
}

}  // namespace

void bind_to_processor(std::size_t number) {
  const std::vector<int> processors = usable_processors();
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(processors[number % processors.size()], &mask);
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = thread.path().filename();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    check(::sched_setaffinity(id, sizeof mask, &mask), "bind a thread to a processor");
  }
}

}  // namespace grapnel::bench
