// SPDX-License-Identifier: Apache-2.0
#include "lab.hpp"

#include <unistd.h>

#include "jobs.hpp"

namespace grapnel::bench {

Lab::Lab(int hosts, const std::string& delay) {
  std::vector<std::string> words = {GRAPNEL_LAB, "up", std::to_string(hosts), "--lab", "free"};
  words.insert(words.end(), {"--owner", std::to_string(::getpid())});
  if (!delay.empty()) words.insert(words.end(), {"--delay", delay, "--delay-line", beside("lab-delay-line")});
  Job up(words);
  while (const auto line = up.next_line()) {
    if (line->rfind("lab ", 0) == 0) number_ = line->substr(4, line->find(':') - 4);
  }
  up_ = up.finish();
}

Lab::~Lab() {
  if (up_) Job({GRAPNEL_LAB, "down", "--lab", number_}).finish();
}

// As tools/lab/place.py has it.
std::string Lab::folder() const { return "/run/grapnel-lab/" + number_; }

std::vector<std::string> Lab::run(const std::string& launcher, int ranks, int timeout_s,
                                  const std::vector<std::string>& environment) const {
  std::vector<std::string> words = {GRAPNEL_LAB, "run", "--lab", number_, "--launcher", launcher};
  words.insert(words.end(), {"-n", std::to_string(ranks), "--timeout", std::to_string(timeout_s)});
  for (const std::string& pair : environment) words.insert(words.end(), {"--env", pair});
  words.emplace_back("--");
  return words;
}

}  // namespace grapnel::bench
