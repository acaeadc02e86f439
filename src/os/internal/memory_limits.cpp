#include "os/internal/memory_limits.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "os/internal/text_file.hpp"

namespace grapnel::os::internal {
namespace {

// The two kinds of cgroup hierarchy differ in their files' names only; a machine may have both at once.
struct CgroupKind {
  const char* file_system;
  const char* limit_file;
  const char* usage_file;
  std::string_view reclaimable_row;  // of memory.stat: page cache that goes first, so it does not stand in the way
};
constexpr CgroupKind kVersion1{"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr CgroupKind kVersion2{"cgroup2", "memory.max", "memory.current", "inactive_file"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

bool lists(std::string_view comma_list, std::string_view word) {
  const auto words = split(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;  // also "max"
  return value;
}

std::optional<std::size_t> number_in_file(const std::string& path) {
  const auto text = read_text_file(path);
  return text ? number_in(*text) : std::nullopt;
}

// The number after the word `name` that begins a line ("MemAvailable:   123 kB", "inactive_file 123").
std::optional<std::size_t> number_in_row(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t behind = at + name.size();
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    if (!begins_line || behind >= text.size() || text[behind] != ' ') continue;
    const std::size_t digits = text.find_first_not_of(' ', behind);
    return digits == std::string_view::npos ? std::nullopt : number_in(text.substr(digits));
  }
  return std::nullopt;
}

// mountinfo writes blanks and backslashes in paths as octal escapes.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_octal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Which part of a hierarchy is visible where.
struct Mount {
  std::string root;   // the path within the hierarchy …
  std::string point;  // … that is seen at this path of the file system
};

// A line of mountinfo: id parent major:minor root point options [tags…] - type source super-options
std::optional<Mount> find_mount(std::string_view mountinfo, const CgroupKind& kind) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4 || dash[1] != kind.file_system) continue;
    if (&kind == &kVersion1 && !lists(dash[3], "memory")) continue;
    return Mount{unescape(fields[3]), unescape(fields[4])};
  }
  return std::nullopt;
}

// A line of /proc/self/cgroup: number:controllers:path; version 2 has number 0 and no controllers.
std::optional<std::string> find_own_path(std::string_view cgroups, const CgroupKind& kind) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool mine = &kind == &kVersion1 ? lists(controllers, "memory") : line.starts_with("0::");
    if (mine) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// The own path as seen below the mount point: "" for the mount point itself, else "/a/b".
std::string path_below_mount(const std::string& own, const Mount& mount) {
  std::string below = own;
  if (mount.root != "/") {
    const bool inside = own == mount.root || own.starts_with(mount.root + "/");
    below = inside ? own.substr(mount.root.size()) : "";
  }
  // A path that leads out of our cgroup namespace ("/../other") cannot be followed here.
  if (below == "/.." || below.starts_with("/../")) below.clear();
  while (!below.empty() && below.back() == '/') below.pop_back();
  return below;
}

std::optional<MemoryLimit> limit_of_folder(const std::string& root, const std::string& folder, const CgroupKind& kind) {
  const auto limit = number_in_file(root + folder + "/" + kind.limit_file);
  const auto usage = number_in_file(root + folder + "/" + kind.usage_file);
  if (!limit || !usage) return std::nullopt;
  const std::string statistics = read_text_file(root + folder + "/memory.stat").value_or("");
  const std::size_t reclaimable = number_in_row(statistics, kind.reclaimable_row).value_or(0);
  const std::size_t taken = *usage - std::min(*usage, reclaimable);
  return MemoryLimit{*limit - std::min(*limit, taken), std::string(kind.limit_file) + " of " + folder};
}

void append_cgroup_limits(const std::string& root, const CgroupKind& kind, const std::optional<Mount>& mount,
                          const std::optional<std::string>& own, std::vector<MemoryLimit>& limits) {
  if (!mount || !own) return;
  std::string below = path_below_mount(*own, *mount);
  while (true) {
    if (auto limit = limit_of_folder(root, mount->point + below, kind)) limits.push_back(*std::move(limit));
    if (below.empty()) return;
    below.resize(below.rfind('/'));
  }
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const std::string& root) {
  std::vector<MemoryLimit> limits;
  const std::string meminfo = read_text_file(root + "/proc/meminfo").value_or("");
  if (const auto available_kib = number_in_row(meminfo, "MemAvailable:")) {
    limits.push_back({*available_kib * base::kKiB, "MemAvailable"});
  }
  // Read every time: a launcher may move a process to another group after it has started.
  const std::string mountinfo = read_text_file(root + "/proc/self/mountinfo").value_or("");
  const std::string cgroups = read_text_file(root + "/proc/self/cgroup").value_or("");
  for (const CgroupKind* kind : {&kVersion2, &kVersion1}) {
    append_cgroup_limits(root, *kind, find_mount(mountinfo, *kind), find_own_path(cgroups, *kind), limits);
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
