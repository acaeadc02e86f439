// SPDX-License-Identifier: Apache-2.0
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
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto is_second_set = [](unsigned c) { return c >= 0x80 && c < 0xa0; };
  std::string clean;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (byte(i) == 0xc2 && is_second_set(byte(i + 1))) {
      clean += '?';  // in UTF-8 these control characters take two bytes
      ++i;
    } else if (byte(i) == '\n' || byte(i) == '\t' || byte(i) == '\r') {
      clean += ' ';
    } else if (byte(i) < 0x20 || byte(i) == 0x7f || (is_second_set(byte(i)) && (i == 0 || byte(i - 1) < 0x80))) {
      clean += '?';
    } else {
      clean += text[i];
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
