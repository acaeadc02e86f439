#include "harness/leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace grapnel::test {
namespace {

namespace fs = std::filesystem;

std::pair<std::string, std::string> new_mark() {
  static int jobs = 0;
  return {"GRAPNEL_TEST_MARK", fmt::format("{}-{}", ::getpid(), ++jobs)};
}

std::set<std::string> files_of_jobs() {
  std::set<std::string> files;
  std::error_code ignored;  // files of others come and go
  for (const fs::path& folder : {fs::path("/dev/shm"), fs::temp_directory_path(ignored)}) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      for (const char* of_jobs : {"grapnel", "pmix", "ucx"}) {
        if (name.find(of_jobs) != std::string::npos) files.insert(entry.path());
      }
    }
  }
  return files;
}

bool carries(const fs::path& process, const std::string& mark) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return environment.find(mark + '\0') != std::string::npos;
}

std::string command_of(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::string command((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

}  // namespace

Leftovers::Leftovers() : mark_(new_mark()), files_before_(files_of_jobs()) {}

std::string Leftovers::found() const {
  std::string lines;
  for (const std::string& file : files_of_jobs()) {
    if (files_before_.count(file) == 0) lines += fmt::format("left behind: {}\n", file);
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    const bool is_process = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_process && carries(entry.path(), mark_.first + '=' + mark_.second)) {
      lines += fmt::format("left behind: process {}, {}\n", name, command_of(entry.path()));
    }
  }
  return lines;
}

}  // namespace grapnel::test
