// SPDX-License-Identifier: Apache-2.0
#include "run/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "os/descriptor.hpp"

namespace grapnel::tool {
namespace {

// /proc may be that of an outer process namespace: then its numbers are not those that kill() takes. So a process has
// two numbers here, and both come from its file there.
struct Process {
  pid_t listed = 0;  ///< its folder in /proc
  pid_t parent = 0;  ///< its parent's
  pid_t ours = 0;    ///< the number in our namespace
};

using ChildrenOf = std::map<pid_t, std::vector<Process>>;

// `level`: which of the numbers of the line NSpid is ours, from 0.
Process look_at(const std::string& folder, std::size_t level) {
  std::ifstream file("/proc/" + folder + "/status");
  Process process;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "Pid:") words >> process.listed;
    if (name == "PPid:") words >> process.parent;
    if (name != "NSpid:") continue;
    pid_t number = 0;
    for (std::size_t i = 0; words >> number; ++i) {
      if (i == level) process.ours = number;
    }
    break;
  }
  return process;
}

// How many namespaces lie between that of /proc and ours.
std::size_t our_level() {
  std::size_t level = 0;
  while (look_at("self", level + 1).ours != 0) ++level;
  return level;
}

ChildrenOf all_processes(std::size_t level) {
  ChildrenOf result;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::atoi(entry->d_name) <= 0) continue;
    const Process process = look_at(entry->d_name, level);
    if (process.ours > 0) result[process.parent].push_back(process);
  }
  ::closedir(folder);
  return result;
}

void collect(const ChildrenOf& tree, pid_t root, const std::set<pid_t>& spared, std::vector<Process>& out) {
  const auto found = tree.find(root);
  if (found == tree.end()) return;
  for (const Process& child : found->second) {
    if (spared.count(child.ours) > 0) continue;
    out.push_back(child);
    collect(tree, child.listed, spared, out);
  }
}

// The process that a handle leads to, by its number in /proc.
pid_t listed_number_of(const os::Descriptor& handle) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(handle.number()));
  std::string name;
  pid_t number = 0;
  while (file >> name) {
    if (name == "Pid:" && file >> number) return number;
  }
  return 0;
}

// Numbers are given anew: the handle is of the process that was looked at only if that one still has the parent it had.
void kill_this(const Process& process, std::size_t level) {
  const os::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.ours, 0)));
  if (!handle.valid()) {
    if (errno != ENOSYS && errno != EPERM) return;  // it has ended
    ::kill(process.ours, SIGKILL);
    return;
  }
  const Process now = look_at(std::to_string(process.listed), level);
  const bool same = now.ours == process.ours && now.parent == process.parent;
  if (same && listed_number_of(handle) == process.listed) {
    ::syscall(SYS_pidfd_send_signal, handle.number(), SIGKILL, nullptr, 0);
  }
}

}  // namespace

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::set<pid_t> children() {
  const std::size_t level = our_level();
  std::set<pid_t> found;
  auto by_parent = all_processes(level);  // named: a range loop does not keep what its range is a part of
  for (const Process& child : by_parent[look_at("self", level).listed]) found.insert(child.ours);
  return found;
}

void kill_descendants(const std::set<pid_t>& spared) {
  const std::size_t level = our_level();
  const Process self = look_at("self", level);
  if (self.ours != ::getpid()) return;  // no /proc, or one that does not list us: nothing there is certainly ours
  // What a process forks while it is being killed is found in the next round.
  for (int attempt = 0; attempt < 400; ++attempt) {
    std::vector<Process> descendants;
    collect(all_processes(level), self.listed, spared, descendants);
    if (descendants.empty()) return;
    for (const Process& process : descendants) kill_this(process, level);
    for (const Process& process : descendants) ::waitpid(process.ours, nullptr, WNOHANG);
    ::usleep(attempt < 20 ? 500 : 5000);
  }
}

}  // namespace grapnel::tool
