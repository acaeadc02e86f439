#include "run/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace grapnel::tool {
namespace {

using ChildrenOf = std::map<pid_t, std::vector<pid_t>>;

// The parent stands behind the last ')' of /proc/PID/stat: the name before it may hold anything.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return std::atoi(line.c_str() + name_end + 4);  // ") S 123"
}

ChildrenOf all_processes() {
  ChildrenOf result;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = ::readdir(folder)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0) result[parent_of(process)].push_back(process);
  }
  ::closedir(folder);
  return result;
}

void collect(const ChildrenOf& tree, pid_t root, const std::set<pid_t>& spared, std::vector<pid_t>& out) {
  const auto found = tree.find(root);
  if (found == tree.end()) return;
  for (const pid_t child : found->second) {
    if (spared.count(child) > 0) continue;
    out.push_back(child);
    collect(tree, child, spared, out);
  }
}

}  // namespace

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::set<pid_t> children() {
  const ChildrenOf tree = all_processes();
  const auto found = tree.find(::getpid());
  if (found == tree.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void kill_descendants(const std::set<pid_t>& spared) {
  // Again and again: one that was just forked is not in the list, and dead parents hand their children to us.
  for (int attempt = 0; attempt < 400; ++attempt) {
    std::vector<pid_t> descendants;
    collect(all_processes(), ::getpid(), spared, descendants);
    if (descendants.empty()) return;
    for (const pid_t process : descendants) ::kill(process, SIGKILL);
    for (const pid_t process : descendants) ::waitpid(process, nullptr, WNOHANG);
    ::usleep(attempt < 20 ? 500 : 5000);
  }
}

}  // namespace grapnel::tool
