// SPDX-License-Identifier: Apache-2.0
#include "os/internal/processor_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "os/internal/cgroups.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os::internal {
namespace {

// "0-3,8": 5.
std::optional<std::size_t> count_of_cpu_list(std::string_view text) {
  std::size_t count = 0;
  for (const std::string_view range : split(text, ',')) {
    const auto first = leading_number(range);
    if (!first) return std::nullopt;
    const std::size_t dash = range.find('-');
    const auto last = dash == std::string_view::npos ? first : leading_number(range.substr(dash + 1));
    if (!last || *last < *first) return std::nullopt;
    count += *last - *first + 1;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<std::size_t> count_of_cpu_list_in(const std::string& path) {
  const auto text = read_text_file(path);
  return text ? count_of_cpu_list(*text) : std::nullopt;
}

// Microseconds of processor time in each period. Rounded up: with 1.5 processors a second thread may run half the time.
std::optional<std::size_t> processors_of_quota(std::optional<std::size_t> quota, std::optional<std::size_t> period) {
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return (*quota - 1) / *period + 1;
}

// Version 2: "max 100000" or "150000 100000".
std::optional<std::size_t> quota_v2(const std::string& folder) {
  const std::string text = read_text_file(folder + "/cpu.max").value_or("");
  const auto fields = split(text, ' ');
  return fields.size() == 2 ? processors_of_quota(leading_number(fields[0]), leading_number(fields[1])) : std::nullopt;
}

// Version 1: a quota of -1 is none.
std::optional<std::size_t> quota_v1(const std::string& folder) {
  return processors_of_quota(number_in_file(folder + "/cpu.cfs_quota_us"),
                             number_in_file(folder + "/cpu.cfs_period_us"));
}

std::optional<std::size_t> cpuset_v2(const std::string& folder) {
  return count_of_cpu_list_in(folder + "/cpuset.cpus.effective");
}

std::optional<std::size_t> cpuset_v1(const std::string& folder) {
  return count_of_cpu_list_in(folder + "/cpuset.cpus");
}

struct Limit {
  CgroupVersion version;
  std::string_view controller;
  std::optional<std::size_t> (*read)(const std::string& folder);
};
constexpr Limit kLimits[] = {{CgroupVersion::v2, "cpu", quota_v2},
                             {CgroupVersion::v2, "cpuset", cpuset_v2},
                             {CgroupVersion::v1, "cpu", quota_v1},
                             {CgroupVersion::v1, "cpuset", cpuset_v1}};

}  // namespace

std::size_t usable_processors(const std::string& root, std::size_t online) {
  std::size_t least = online;
  for (const Limit& limit : kLimits) {
    for (const std::string& folder : cgroup_folders(root, limit.version, limit.controller)) {
      least = std::min(least, limit.read(root + folder).value_or(least));
    }
  }
  return std::max<std::size_t>(least, 1);
}

}  // namespace grapnel::os::internal
