// A machine laid out in a folder: what /proc and /sys say there is up to the test. Gone with the test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "os/process.hpp"

namespace grapnel::test {

class FakeMachine : public testing::Test {
 protected:
  /// Without cgroups.
  FakeMachine() : root_(std::filesystem::temp_directory_path() / unique_name("machine")) {
    write("/proc/self/mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n");
    write("/proc/self/cgroup", "");
  }
  ~FakeMachine() override { remove(); }

  std::string root() const { return root_.string(); }
  void remove() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  const std::filesystem::path root_;
};

}  // namespace grapnel::test
