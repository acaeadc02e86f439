// SPDX-License-Identifier: Apache-2.0
#include "os/internal/cgroups.hpp"

#include <algorithm>
#include <charconv>

#include "os/internal/text_file.hpp"

namespace grapnel::os::internal {

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

std::optional<std::size_t> leading_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::size_t> number_in_file(const std::string& path) {
  const auto text = read_text_file(path);
  return text ? leading_number(*text) : std::nullopt;
}

namespace {

bool lists(std::string_view comma_list, std::string_view word) {
  const auto words = split(comma_list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
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
std::optional<Mount> find_mount(std::string_view mountinfo, CgroupVersion version, std::string_view controller) {
  const std::string_view file_system = version == CgroupVersion::v2 ? "cgroup2" : "cgroup";
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4 || dash[1] != file_system) continue;
    if (version == CgroupVersion::v1 && !lists(dash[3], controller)) continue;
    return Mount{unescape(fields[3]), unescape(fields[4])};
  }
  return std::nullopt;
}

// The lines of mountinfo that find_mount can take.
std::string cgroup_mounts(std::string_view mountinfo) {
  std::string found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (line.find(" - cgroup") != std::string_view::npos) found.append(line).append("\n");
  }
  return found;
}

// Of this machine read once in a process: its control groups are mounted before a program starts, and the kernel takes
// long for the file where much is mounted.
std::optional<Mount> find_mount_below(const std::string& root, CgroupVersion version, std::string_view controller) {
  const auto mounts = [&] { return cgroup_mounts(read_text_file(root + "/proc/self/mountinfo").value_or("")); };
  if (!root.empty()) return find_mount(mounts(), version, controller);
  static const std::string here = mounts();
  return find_mount(here, version, controller);
}

// A line of /proc/self/cgroup: number:controllers:path; version 2 has number 0 and no controllers.
std::optional<std::string> find_own_path(std::string_view cgroups, CgroupVersion version, std::string_view controller) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool mine = version == CgroupVersion::v1 ? lists(controllers, controller) : line.starts_with("0::");
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

}  // namespace

std::vector<std::string> cgroup_folders(const std::string& root, CgroupVersion version, std::string_view controller) {
  const auto mount = find_mount_below(root, version, controller);
  const auto own = find_own_path(read_text_file(root + "/proc/self/cgroup").value_or(""), version, controller);
  std::vector<std::string> folders;
  if (!mount || !own) return folders;
  std::string below = path_below_mount(*own, *mount);
  while (true) {
    folders.push_back(mount->point + below);
    if (below.empty()) return folders;
    below.resize(below.rfind('/'));
  }
}

}  // namespace grapnel::os::internal
