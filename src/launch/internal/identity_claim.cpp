// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/identity_claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace grapnel::launch {
namespace {

constexpr int kMostAncestors = 1000;

// The parent is behind the last ')' of /proc/PID/stat: the name before it may hold anything.
int parent_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 4 > line.size() ? 0 : std::atoi(line.c_str() + name_end + 4);
}

bool is_ancestor(int process) {
  int ancestor = ::getppid();
  for (int i = 0; i < kMostAncestors && ancestor > 1; ++i) {
    if (ancestor == process) return true;
    ancestor = parent_of(ancestor);
  }
  return false;
}

IdentityClaim::Holder holder_of(int process) { return {std::max(process, 0), process > 0 && is_ancestor(process)}; }

// FNV-1a: the same number in every build of every library.
std::uint64_t mixed(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Name name_of(const LauncherSigns& signs) {
  std::string all;
  for (const char* variable : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                               "PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}) {
    all += signs.text(variable).value_or("") + '\n';
  }
  const std::string text = fmt::format("grapnel-rank-{}-{:016x}", ::geteuid(), mixed(all));
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

os::Descriptor local_socket() {
  return os::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// The process that listens under `name`, if it is this user's and another than this one.
std::optional<IdentityClaim::Holder> listener_at(const Name& name) {
  const os::Descriptor socket = local_socket();
  ucred holder{};
  socklen_t bytes = sizeof holder;
  if (::connect(socket.number(), name.get(), name.bytes) != 0 ||
      ::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &holder, &bytes) != 0) {
    return std::nullopt;  // it has just ended
  }
  if (holder.uid != ::geteuid() || holder.pid == ::getpid()) return std::nullopt;
  return holder_of(holder.pid);
}

}  // namespace

std::optional<IdentityClaim::Holder> IdentityClaim::take(const LauncherSigns& signs) {
  claim_.reset();
  if (signs.offers_pmix() && !signs.offers_grapnel_run()) return take_name(signs);
  if (!signs.offers_pmi1()) return std::nullopt;
  return lock_socket(*signs.number("PMI_FD"));
}

// The kernel drops a process's locks of a file when any of its descriptors of it is closed: hence a copy that is kept.
std::optional<IdentityClaim::Holder> IdentityClaim::lock_socket(int number) {
  os::Descriptor copy(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(copy.number(), F_SETLK, &lock) == 0) {
    claim_ = std::move(copy);
    return std::nullopt;
  }
  if (errno != EAGAIN && errno != EACCES) return std::nullopt;  // a kernel or a sandbox without such locks
  if (::fcntl(copy.number(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return Holder{};
  return holder_of(lock.l_pid);
}

std::optional<IdentityClaim::Holder> IdentityClaim::take_name(const LauncherSigns& signs) {
  const Name name = name_of(signs);
  os::Descriptor socket = local_socket();
  if (!socket.valid()) return std::nullopt;
  if (::bind(socket.number(), name.get(), name.bytes) != 0) {
    return errno == EADDRINUSE ? listener_at(name) : std::nullopt;
  }
  if (::listen(socket.number(), SOMAXCONN) == 0) claim_ = std::move(socket);
  return std::nullopt;
}

Status identity_is_taken(const IdentityClaim::Holder& holder) {
  const std::string which = holder.process > 0 ? fmt::format("process {}", holder.process) : "another process";
  return Status(Code::unavailable,
                fmt::format("{} has joined the job as this rank already, and a rank is one process: start one program "
                            "per rank, or one after the other",
                            which));
}

}  // namespace grapnel::launch
