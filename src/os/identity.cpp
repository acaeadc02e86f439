#include "os/identity.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.hpp"
#include "os/internal/cpu_set.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os {

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

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  ssize_t got = -1;
  do {
    got = ::getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  GRAPNEL_CHECK(got == sizeof value, "getrandom gave {} bytes", got);
  return value;
}

}  // namespace grapnel::os
