// The limits of a process, each with what it stops.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <optional>

#include "base/units.hpp"
#include "launch/settings.hpp"
#include "os/host.hpp"
#include "os/limits.hpp"
#include "selftest/facts.hpp"

namespace grapnel::tool::selftest {
namespace {

using base::kMiB;

constexpr std::size_t kLeastLocked = 64 * kMiB;        // what an adapter registers for a small program
constexpr std::size_t kLeastSharedMemory = 64 * kMiB;  // containers give as much, and Open MPI ends for want of more
constexpr std::size_t kLeastAddresses = 1024 * kMiB;   // beside the pool

std::optional<rlim_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string bytes_text(std::optional<rlim_t> bytes) {
  if (!bytes) return "unlimited";
  return *bytes < kMiB ? fmt::format("{} KiB", *bytes / base::kKiB) : fmt::format("{} MiB", *bytes / kMiB);
}

// The limit does not hold for a process that may lock all it wants (CAP_IPC_LOCK): root, mostly.
bool can_lock(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const bool locked = ::mlock(memory, bytes) == 0;
  ::munmap(memory, bytes);
  return locked;
}

Row locked_memory(bool adapter) {
  Row row{.section = "machine", .name = "locked memory"};
  const auto limit = limit_of(RLIMIT_MEMLOCK);
  row.found = fmt::format("limit {}", bytes_text(limit));
  if (!limit || *limit >= kLeastLocked) return row;
  const bool allowed = can_lock(kLeastLocked);
  row.remedy =
      "ulimit -l unlimited in the shell that starts the job; for all users `* - memlock unlimited` in "
      "/etc/security/limits.d, for Slurm LimitMEMLOCK=infinity in slurmd's unit";
  if (allowed) {
    row.found += ", which does not hold for this process (it may lock more all the same); other users' jobs meet it";
  } else if (adapter) {
    row.verdict = Verdict::wrong;
    row.found += ": an adapter registers memory by locking it, and the allocation of segments will fail";
  } else {
    row.found += ": no adapter is here that would register memory, so nothing of this job meets it";
  }
  // A limit that nothing meets now is no fault, but the next machine may have an adapter.
  if (row.verdict == Verdict::good && *limit < kMiB) row.verdict = Verdict::not_here;
  if (row.verdict == Verdict::good) row.remedy.clear();
  return row;
}

Row open_files(const launch::NodeMap& nodes) {
  // UCX and the launcher take some fifty; then a few for each node and for each rank, which all connect to the servers.
  const std::size_t need = 64 + 4 * nodes.node_count() + nodes.node_of.size();
  Row row{.section = "machine", .name = "open files"};
  const auto limit = limit_of(RLIMIT_NOFILE);
  row.found = limit ? fmt::format("limit {}", *limit) : "unlimited";
  if (limit && *limit < need) {
    row.verdict = Verdict::wrong;
    row.found += fmt::format(": this job may need {}", need);
    row.remedy = fmt::format("ulimit -n {} in the shell that starts the job", 4 * need);
  }
  return row;
}

Row address_space(const base::Config& config) {
  Row row{.section = "machine", .name = "address space"};
  const auto limit = limit_of(RLIMIT_AS);
  const std::size_t pool = config.get<launch::Settings>().pool_bytes;
  row.found = bytes_text(limit);
  if (limit && *limit < pool + kLeastAddresses) {
    row.verdict = Verdict::wrong;
    row.found += fmt::format(": GRAPNEL_POOL_BYTES sets {} aside", bytes_text(pool));
    row.remedy = "ulimit -v unlimited, or a GRAPNEL_POOL_BYTES of half the limit";
  }
  return row;
}

Row shared_memory_folder() {
  Row row{.section = "machine", .name = "/dev/shm"};
  struct statvfs about {};
  if (::statvfs("/dev/shm", &about) != 0) {
    row.verdict = Verdict::not_here;
    row.found = "there is none; Grapnel needs none, MPI libraries and UCX's shared memory do";
    return row;
  }
  const std::size_t room = about.f_bavail * about.f_frsize;
  row.found = fmt::format("{} free", bytes_text(room));
  if (room < kLeastSharedMemory) {
    row.verdict = Verdict::wrong;
    row.found += ": Grapnel's own memory is not there, but an MPI's is, and its ranks end without room";
    row.remedy =
        "docker run --shm-size=1g; mount -o remount,size=1g /dev/shm; or delete what dead jobs have left there";
  }
  return row;
}

Row threads() {
  Row row{.section = "machine", .name = "threads and descriptors", .found = "there is room"};
  if (const std::string met = os::limits_met(); !met.empty()) {
    row.verdict = Verdict::wrong;
    row.found = met;
    row.remedy = "raise the limit that is named";
  }
  return row;
}

Row processors(const launch::NodeMap& nodes, NodeId me) {
  const std::size_t processors = os::make_real_host()->processors(), ranks = nodes.ranks_on_machine_of(me);
  Row row{.section = "machine", .name = "processors"};
  row.found = fmt::format("{} for {} rank{} of this job", processors, ranks, ranks == 1 ? "" : "s");
  if (ranks > processors) row.found += "; they take turns, so waits are longer than with one rank per processor";
  return row;
}

}  // namespace

std::vector<Row> limit_rows(const base::Config& config, const launch::NodeMap& nodes, NodeId me, bool adapter) {
  return {processors(nodes, me), locked_memory(adapter), open_files(nodes),
          address_space(config), shared_memory_folder(), threads()};
}

}  // namespace grapnel::tool::selftest
