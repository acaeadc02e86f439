// The control groups (cgroups) that limit this process: the folders where a controller's files stand.
//
// Every file is read below `root`, so that a test can lay out a machine of its own in a folder; "" is this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grapnel::os::internal {

/// The two kinds of hierarchy; a machine may have both at once. In version 1 each controller has a mount of its own.
enum class CgroupVersion { v1, v2 };

/// Of the process's own group first, then of those above it, up to the root of what can be seen here; without `root`
/// before them. Empty where there is no such hierarchy. The group is read anew each time, because a launcher may move a
/// process after it has started; where the hierarchies are mounted is read once.
std::vector<std::string> cgroup_folders(const std::string& root, CgroupVersion version, std::string_view controller);

/// The number with which the text begins; none for "max", which is no limit.
std::optional<std::size_t> leading_number(std::string_view text);
std::optional<std::size_t> number_in_file(const std::string& path);

/// The parts between separators; an empty text has none.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace grapnel::os::internal
