// SPDX-License-Identifier: Apache-2.0
#include "os/internal/memory_limits.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "os/internal/cgroups.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os::internal {
namespace {

// The two kinds of hierarchy differ in their files' names only.
struct CgroupKind {
  CgroupVersion version;
  const char* limit_file;
  const char* usage_file;
  std::string_view reclaimable_row;  // of memory.stat: page cache that is reclaimed first, so it takes nothing away
};
constexpr CgroupKind kKinds[] = {
    {CgroupVersion::v2, "memory.max", "memory.current", "inactive_file"},
    {CgroupVersion::v1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}};

// Version 1 writes the most whole pages of a signed number.
constexpr std::size_t kNoLimit = std::size_t{1} << 62;

// The number after the word `name` that begins a line ("MemAvailable:   123 kB", "inactive_file 123").
std::optional<std::size_t> number_in_row(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t behind = at + name.size();
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    if (!begins_line || behind >= text.size() || text[behind] != ' ') continue;
    const std::size_t digits = text.find_first_not_of(' ', behind);
    return digits == std::string_view::npos ? std::nullopt : leading_number(text.substr(digits));
  }
  return std::nullopt;
}

std::optional<MemoryLimit> limit_of_folder(const std::string& root, const std::string& folder, const CgroupKind& kind) {
  const auto limit = number_in_file(root + folder + "/" + kind.limit_file);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const auto usage = number_in_file(root + folder + "/" + kind.usage_file);
  if (!usage) return std::nullopt;
  const std::string statistics = read_text_file(root + folder + "/memory.stat").value_or("");
  const std::size_t reclaimable = number_in_row(statistics, kind.reclaimable_row).value_or(0);
  const std::size_t taken = *usage - std::min(*usage, reclaimable);
  return MemoryLimit{*limit - std::min(*limit, taken), std::string(kind.limit_file) + " of " + folder};
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const std::string& root) {
  std::vector<MemoryLimit> limits;
  const std::string meminfo = read_text_file(root + "/proc/meminfo").value_or("");
  if (const auto available_kib = number_in_row(meminfo, "MemAvailable:")) {
    limits.push_back({*available_kib * base::kKiB, "MemAvailable"});
  }
  for (const CgroupKind& kind : kKinds) {
    for (const std::string& folder : cgroup_folders(root, kind.version, "memory")) {
      if (auto limit = limit_of_folder(root, folder, kind)) limits.push_back(*std::move(limit));
    }
  }
  return limits;
}

MemoryLimit tightest_memory_limit_below(const std::string& root) {
  MemoryLimit tightest{std::numeric_limits<std::size_t>::max(), "no known limit"};
  for (MemoryLimit& limit : memory_limits(root)) {
    if (limit.available_bytes < tightest.available_bytes) tightest = std::move(limit);
  }
  return tightest;
}

}  // namespace grapnel::os::internal
