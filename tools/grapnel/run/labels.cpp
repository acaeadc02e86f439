// SPDX-License-Identifier: Apache-2.0
#include "run/labels.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "os/limits.hpp"

namespace grapnel::tool {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;  // a longer one is cut, so that no rank can fill our memory

}  // namespace

Labels::~Labels() {
  if (!thread_.joinable()) return;
  if (done_) {
    thread_.join();
  } else {
    thread_.detach();  // stuck in a write to a rank that does not read; the process is about to end
  }
}

Result<Labels::Pipes> Labels::add_rank() {
  Pipes pipes;
  GRAPNEL_TRY(add_source(ranks_, STDOUT_FILENO, pipes.output));
  GRAPNEL_TRY(add_source(ranks_, errors_, pipes.errors));
  ++ranks_;
  return pipes;
}

Status Labels::add_source(int rank, int to, os::Descriptor& writer) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Status(Code::system,
                  fmt::format("making a pipe for the output of rank {}: {}", rank, os::error_words(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  writer = os::Descriptor(ends[1]);
  sources_.push_back({os::Descriptor(ends[0]), to, fmt::format("{}: ", rank), {}});
  return {};
}

void Labels::start() {
  if (sources_.empty()) return;
  done_ = false;
  thread_ = std::thread([this] {
    pass_on();
    done_ = true;
  });
}

void Labels::drain(double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  while (!done_ && std::chrono::steady_clock::now() < end) ::usleep(1000);
}

void Labels::pass_on() {
  while (!sources_.empty()) {
    std::vector<pollfd> entries;
    for (const Source& source : sources_) entries.push_back({source.from.number(), POLLIN, 0});
    ::poll(entries.data(), entries.size(), -1);
    for (std::size_t i = entries.size(); i-- > 0;) {
      if (entries[i].revents != 0 && !pass_lines(sources_[i])) {
        sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

bool Labels::pass_lines(Source& source) {
  std::array<char, 16 * 1024> buffer;
  const ssize_t count = ::read(source.from.number(), buffer.data(), buffer.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  source.line.append(buffer.data(), static_cast<std::size_t>(count));
  std::string out;
  std::size_t begin = 0;
  for (std::size_t end; (end = source.line.find('\n', begin)) != std::string::npos; begin = end + 1) {
    out += source.label;
    out.append(source.line, begin, end + 1 - begin);
  }
  source.line.erase(0, begin);
  const bool cut = source.line.size() >= kLongestLine || (count == 0 && !source.line.empty());
  if (cut) {
    out += source.label + source.line + '\n';
    source.line.clear();
  }
  return write_out(source.to, out) && count != 0;
}

bool Labels::write_out(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(to, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd entry{to, POLLOUT, 0};
      ::poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      if (errno == EPIPE) return false;
      if (to == STDOUT_FILENO && error_ == 0) error_ = errno;
      return true;
    }
  }
  return true;
}

}  // namespace grapnel::tool
