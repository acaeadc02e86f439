// SPDX-License-Identifier: Apache-2.0
#include "os/identity.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "base/check.hpp"
#include "os/descriptor.hpp"
#include "os/internal/cpu_set.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os {
namespace {

// The file is the same generator, for processes that may not call getrandom.
std::optional<std::uint64_t> random_number() {
  std::uint64_t value = 0;
  ssize_t got = -1;
  do {
    got = ::getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof value) return value;
  const Descriptor file(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::read(file.number(), &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

}  // namespace

std::string machine_identity() {
  char host_name[256] = {};
  ::gethostname(host_name, sizeof host_name - 1);
  // Two containers may share name and kernel and yet not see each other's sockets: hence the network namespace.
  struct stat network {};
  const bool known = ::stat("/proc/self/ns/net", &network) == 0;
  std::string boot = internal::read_text_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  return fmt::format("{}/{}/{}", host_name, boot, known ? network.st_ino : 0);
}

std::vector<int> cpus_allowed() {
  // The kernel answers EINVAL while the room is smaller than its own set.
  for (int room = 1024; room <= (1 << 20); room *= 2) {
    internal::CpuSet set(room);
    if (::sched_getaffinity(0, set.bytes(), set.get()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < room; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), set.bytes(), set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {0};
}

Status check_random() {
  if (random_number()) return {};
  return Status(Code::unavailable,
                "no random numbers: this process's sandbox refuses getrandom, and /dev/urandom cannot be read; one of "
                "the two is needed to name the job");
}

bool is_traced() {
  const std::string status = internal::read_text_file("/proc/self/status").value_or("");
  const std::string_view field = "\nTracerPid:\t";
  const auto at = status.find(field);
  return at != std::string::npos && status.compare(at + field.size(), 2, "0\n") != 0;
}

std::uint64_t random_u64() {
  const auto value = random_number();
  GRAPNEL_CHECK(value.has_value(), "neither getrandom nor /dev/urandom gives random numbers");
  return *value;
}

}  // namespace grapnel::os
