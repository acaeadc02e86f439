#include "run/message.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace grapnel::tool {
namespace {

int message_descriptor = STDERR_FILENO;

}  // namespace

void say_through(int descriptor) { message_descriptor = descriptor; }

void say(std::string_view text) {
  const std::string line = fmt::format("grapnel run: {}\n", text);
  // A message that cannot be written has nowhere to be reported.
  [[maybe_unused]] const auto written = ::write(message_descriptor, line.data(), line.size());
}

std::string signal_words(int signal) {
  const char* name = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal, name != nullptr ? name : "unknown");
}

std::string end_words(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was killed by " + signal_words(WTERMSIG(wait_status));
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
}

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace grapnel::tool
