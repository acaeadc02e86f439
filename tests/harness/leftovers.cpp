// SPDX-License-Identifier: Apache-2.0
#include "harness/leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace grapnel::test {
namespace {

namespace fs = std::filesystem;

std::string new_mark() {
  static int jobs = 0;
  return fmt::format("{}-{}", ::getpid(), ++jobs);
}

std::string new_folder() {
  std::string folder = fs::temp_directory_path() / "job-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for a job's temporary files");
  return folder;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code ignored;  // files of others come and go
  for (const auto& entry : fs::directory_iterator(folder, ignored)) files.insert(entry.path());
  return files;
}

std::set<std::string> shared_files_of_jobs() {
  std::set<std::string> files;
  for (const std::string& file : files_in("/dev/shm")) {
    for (const char* of_jobs : {"grapnel", "pmix", "ucx"}) {
      if (file.find(of_jobs) != std::string::npos) files.insert(file);
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

Leftovers::Leftovers() : mark_(new_mark()), folder_(new_folder()), shared_before_(shared_files_of_jobs()) {}

Leftovers::~Leftovers() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Leftovers::found() const {
  std::string lines;
  for (const std::string& file : files_in(folder_)) lines += fmt::format("left behind: {}\n", file);
  std::set<std::string> shared = shared_files_of_jobs();
  const auto is_old = [this](const std::string& file) { return shared_before_.count(file) != 0; };
  for (int looks = 0; looks < 10 && !std::all_of(shared.begin(), shared.end(), is_old); ++looks) {
    ::usleep(100'000);
    shared = shared_files_of_jobs();
  }
  for (const std::string& file : shared) {
    if (!is_old(file)) lines += fmt::format("left behind: {}\n", file);
  }
  for (const std::string& entry : files_in("/proc")) {
    const std::string name = fs::path(entry).filename();
    const bool is_process = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_process && carries(entry, fmt::format("{}={}", kMark, mark_))) {
      lines += fmt::format("left behind: process {}, {}\n", name, command_of(entry));
    }
  }
  return lines;
}

}  // namespace grapnel::test
