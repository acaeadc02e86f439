#include "run/message.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace grapnel::tool {
void say(std::string_view text) {
  const std::string line = fmt::format("grapnel run: {}\n", text);
  // A message that cannot be written has nowhere to be reported.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto c = static_cast<unsigned char>(clean[i]);
    // In UTF-8, C2 80 to C2 9F are control characters, too; the byte alone is one in Latin-1.
    const bool second_set =
        c >= 0x80 && c < 0xa0 &&
        (i == 0 || static_cast<unsigned char>(text[i - 1]) == 0xc2 || static_cast<unsigned char>(text[i - 1]) < 0x80);
    if (c == '\n' || c == '\t' || c == '\r') {
      clean[i] = ' ';
    } else if (c < 0x20 || c == 0x7f || second_set) {
      clean[i] = '?';
    }
  }
  return clean;
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
