// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "launch/launch.hpp"
#include "launch/settings.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::launch {
namespace {

class Single : public testing::Test {
 protected:
  // The test itself may run under a launcher.
  void SetUp() override {
    for (const char* variable : {"PMIX_NAMESPACE", "PMI_FD", "PMI_RANK", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(variable);
    }
  }
  std::unique_ptr<os::Host> host_ = os::make_real_host();
  base::Config config_;
};

TEST_F(Single, IsAJobOfOne) {
  auto launch = join(config_, *host_);
  ASSERT_TRUE(launch.ok()) << launch.status().message();
  EXPECT_EQ((*launch)->rank(), Rank{0});
  EXPECT_EQ((*launch)->size(), 1);
  EXPECT_TRUE((*launch)->leads_node());
  EXPECT_EQ((*launch)->description(), "single");
  EXPECT_TRUE((*launch)->health().ok());
  EXPECT_EQ((*launch)->pool().bytes(), config_.get<launch::Settings>().pool_bytes);
  EXPECT_TRUE((*launch)->finalize().ok());
}

TEST_F(Single, PublishesToItself) {
  auto launch = join(config_, *host_);
  ASSERT_TRUE(launch.ok());
  const Bytes value(3000, std::byte{7});
  ASSERT_TRUE((*launch)->publish("key", value).ok());
  ASSERT_TRUE((*launch)->fence().ok());
  const auto found = (*launch)->lookup(Rank{0}, "key");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, value);
  EXPECT_EQ((*launch)->lookup(Rank{0}, "other").status().code(), Code::invalid_argument);
}

TEST_F(Single, PassesDescriptorsToItself) {
  auto launch = join(config_, *host_);
  ASSERT_TRUE(launch.ok());
  const auto file = os::create_shared_file("test", 4096);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::pwrite(file->number(), "hello", 5, 0), 5);
  ASSERT_TRUE((*launch)->send_descriptor(Rank{0}, 1, *file).ok());
  ASSERT_TRUE((*launch)->send_descriptor(Rank{0}, 2, *file).ok());
  for (const std::uint64_t tag : {2, 1}) {  // the other order: the first is kept
    const auto got = (*launch)->receive_descriptor(tag);
    ASSERT_TRUE(got.ok()) << got.status().message();
    char text[6] = {};
    ASSERT_EQ(::pread(got->number(), text, 5, 0), 5);
    EXPECT_STREQ(text, "hello");
  }
  EXPECT_EQ((*launch)->send_descriptor(Rank{1}, 1, *file).code(), Code::invalid_argument);
}

TEST_F(Single, NodeMemoryIsZero) {
  auto launch = join(config_, *host_);
  ASSERT_TRUE(launch.ok());
  for (const std::uint64_t word : (*launch)->node_memory().carve<std::uint64_t>(1000)) EXPECT_EQ(word, 0u);
}

TEST_F(Single, ALauncherWithoutPmixIsNamed) {
  ::setenv("PMI_FD", "7", 1);
  ::setenv("PMI_RANK", "0", 1);
  ::setenv("PMI_SIZE", "2", 1);
  const auto launch = join(config_, *host_);
  ASSERT_FALSE(launch.ok());
  EXPECT_EQ(launch.status().code(), Code::unavailable);
  EXPECT_NE(launch.status().message().find("hydra"), std::string::npos);
  EXPECT_NE(launch.status().message().find("grapnel run"), std::string::npos);
  ::setenv("PMI_SIZE", "1", 1);
  EXPECT_TRUE(join(config_, *host_).ok());
  for (const char* variable : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(variable);
}

}  // namespace
}  // namespace grapnel::launch
