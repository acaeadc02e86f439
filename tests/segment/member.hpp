// A rank with its table, and what the tests of segments count in the process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "base/codec.hpp"
#include "segment/fake_launch.hpp"

namespace grapnel::test {

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

inline std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("grapnel-segments") != std::string::npos;
  return count;
}

// Memory behind the pools of all nodes.
inline std::size_t segment_bytes() {
  std::map<ino_t, std::size_t> bytes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    struct stat status {};
    const bool ours = std::filesystem::read_symlink(entry, gone).string().find("grapnel-segments") != std::string::npos;
    if (ours && ::stat(entry.path().c_str(), &status) == 0) {
      bytes[status.st_ino] = static_cast<std::size_t>(status.st_blocks) * 512;
    }
  }
  std::size_t sum = 0;
  for (const auto& [inode, taken] : bytes) sum += taken;
  return sum;
}

inline std::unique_ptr<segment::SegmentTable> make_table(FakeLaunch& launch, os::Host& host,
                                                         transport::Transport* transport) {
  auto table = segment::SegmentTable::create(launch, launch, host, transport);
  EXPECT_TRUE(table.ok()) << table.status().to_string();
  return *std::move(table);
}

// What each rank of a test holds.
struct Member {
  explicit Member(FakeLaunch& fake, transport::Transport* transport = nullptr)
      : launch(fake),
        host(os::make_real_host()),
        owned_table(make_table(fake, *host, transport)),
        table(*owned_table),
        world(launch::make_world(fake.rank(), fake.size())),
        me(index(fake.rank())) {}

  bool same_node(std::size_t other) const { return launch.nodes().node_of[other] == launch.node(); }
  void barrier() { (void)launch.allgather(world, base::bytes_of(me)); }

  FakeLaunch& launch;
  std::unique_ptr<os::Host> host;
  std::unique_ptr<segment::SegmentTable> owned_table;
  segment::SegmentTable& table;
  launch::Group world;
  std::size_t me;
};

}  // namespace grapnel::test
