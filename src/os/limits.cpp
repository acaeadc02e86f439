// SPDX-License-Identifier: Apache-2.0
#include "os/limits.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/units.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os {
namespace {

// A worker of UCX opens about a dozen, and frees them again where one is refused.
constexpr rlim_t kSpareDescriptors = 24;
constexpr std::size_t kSpareAddresses = 64 * base::kMiB;
constexpr std::size_t kSparePinned = 64 * base::kMiB;  // what an adapter's library registers at once
constexpr std::size_t kPage = 4 * base::kKiB;

std::optional<rlim_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string value_of(std::optional<rlim_t> limit) { return limit ? std::to_string(*limit) : "any number of"; }

// All of them where there is none left to look with.
rlim_t open_descriptors(rlim_t limit) {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return errno == EMFILE ? limit : 0;
  rlim_t count = 0;
  while (const dirent* entry = ::readdir(folder)) count += entry->d_name[0] == '.' ? 0 : 1;
  ::closedir(folder);
  return count - 1;  // the folder itself
}

// Where fewer than `spare` are left.
std::string about_descriptors(rlim_t spare) {
  const auto limit = limit_of(RLIMIT_NOFILE);
  if (!limit) return "";
  const rlim_t open = open_descriptors(*limit);
  if (open + spare <= *limit) return "";
  return fmt::format("this process has {} descriptors open and may open {}: raise the limit (ulimit -n)", open, *limit);
}

// The error of starting a thread with this much stack; the default where it is 0.
int try_thread(std::size_t stack_bytes) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  if (stack_bytes > 0) ::pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  const int error = ::pthread_create(
      &thread, &attributes, [](void* nothing) { return nothing; }, nullptr);
  if (error == 0) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  return error;
}

std::string about_threads() {
  if (try_thread(0) == 0) return "";
  if (try_thread(128 * base::kKiB) != 0) {
    return fmt::format(
        "no thread can be started: this user may run {} processes and threads (ulimit -u), and a container may be "
        "limited further (pids.max): end some, or raise the limit",
        value_of(limit_of(RLIMIT_NPROC)));
  }
  return fmt::format(
      "a thread takes the stack limit, {} MiB, as addresses, and they are refused: lower the limit (ulimit -s 8192)",
      limit_of(RLIMIT_STACK).value_or(0) / base::kMiB);
}

std::string about_addresses() {
  const auto limit = limit_of(RLIMIT_AS);
  if (!limit) return "";
  void* const room = ::mmap(nullptr, kSpareAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) ::munmap(room, kSpareAddresses);
  if (room != MAP_FAILED) return "";
  return fmt::format("the address space is limited to {} MiB and used up: raise the limit (ulimit -v)",
                     *limit / base::kMiB);
}

// A line of /proc/self/status, without its name: "VmPin:\t  12 kB" has 12, in the base that it is written in.
std::uint64_t number_of_status(std::string_view name, int base) {
  const std::string status = internal::read_text_file("/proc/self/status").value_or("");
  const std::size_t at = status.find(name);
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + name.size(), nullptr, base);
}

// Of root, unless a container took it away.
bool may_pin_without_limit() { return (number_of_status("\nCapEff:", 16) >> CAP_IPC_LOCK & 1) != 0; }

}  // namespace

std::string pinning_limit_met(std::size_t bytes) {
  const auto limit = limit_of(RLIMIT_MEMLOCK);
  if (!limit || may_pin_without_limit()) return "";
  const std::size_t pinned = pinned_bytes();
  if (pinned + bytes + kPage <= *limit) return "";  // memory that begins inside a page takes one page more
  return fmt::format(
      "an adapter reaches only memory that is pinned, and this process may pin {} KiB and has pinned {}: raise the "
      "limit (ulimit -l unlimited; memlock in /etc/security/limits.conf)",
      *limit / base::kKiB, pinned / base::kKiB);
}

bool pinning_is_unlimited() { return !limit_of(RLIMIT_MEMLOCK); }

std::size_t pinned_bytes() { return number_of_status("\nVmPin:", 10) * base::kKiB; }

std::string error_words(int error) {
  std::string words = std::generic_category().message(error);
  if (error == EMFILE) {
    words += fmt::format(": this process may open {}; raise the limit (ulimit -n)", value_of(limit_of(RLIMIT_NOFILE)));
  } else if (error == ENFILE) {
    words += ": the machine has no more for all its processes (fs.file-max)";
  } else if (error == EAGAIN) {
    if (const std::string limit = about_threads(); !limit.empty()) words += ": " + limit;
  }
  return words;
}

std::string limits_met() {
  const bool pins = pinned_bytes() > 0;
  std::string all;
  for (const std::string& one : {about_descriptors(kSpareDescriptors), about_threads(), about_addresses(),
                                 pins ? pinning_limit_met(kSparePinned) : ""}) {
    if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
  }
  return all;
}

Status check_room(std::size_t descriptors) {
  for (const std::string& one : {about_descriptors(descriptors), about_threads()}) {
    if (!one.empty()) return {Code::unavailable, one};
  }
  return {};
}

std::string with_limits_met(std::string message) {
  if (const std::string limits = limits_met(); !limits.empty()) message += " (" + limits + ")";
  return message;
}

}  // namespace grapnel::os
