// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/config.hpp"
#include "run/front.hpp"
#include "run/hand_over.hpp"
#include "run/message.hpp"
#include "run/options.hpp"
#include "run/program.hpp"
#include "runtime/services.hpp"

namespace grapnel::tool {
namespace {

constexpr int kUsage = 2;
constexpr int kNotExecutable = 126;  // as a shell answers
constexpr int kNotFound = 127;
constexpr int kMostRanks = 4096;  // of one machine; a typing error should not fork a million processes

int refuse(const std::string& why) {
  say(why);
  return kUsage;
}

}  // namespace

int run(RunOptions options) {
  if (options.command.empty()) return refuse("which program? grapnel run -n 4 -- ./program arguments…");
  if (options.ranks < 1) return refuse(fmt::format("-n {}: a job has at least one rank", options.ranks));
  // Each rank would refuse a setting, and print so.
  if (const auto config = base::Config::from_environment(runtime::settings_groups()); !config)
    return refuse(config.status().message());
  if (needs_hand_over(options)) return hand_over(options);
  if (options.nodes > options.ranks) {
    return refuse(fmt::format("--nodes {}: more virtual nodes than the {} rank(s)", options.nodes, options.ranks));
  }
  if (options.ranks > kMostRanks) return refuse(fmt::format("-n {}: at most {} here", options.ranks, kMostRanks));
  const auto program = find_program(options.command.front());
  if (!program) {
    say(program.status().message());
    return program.status().code() == Code::refused ? kNotExecutable : kNotFound;
  }
  return run_front(options, *program);
}

}  // namespace grapnel::tool
