// SPDX-License-Identifier: Apache-2.0
#include "os/host.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <new>

#include "base/units.hpp"
#include "os/identity.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::os {
namespace {

using base::kMillisecond_ns;
using base::kSecond_ns;

TEST(Host, ClockRunsForward) {
  const auto host = make_real_host();
  const std::uint64_t before = host->now_ns();
  host->relax();
  host->yield();
  EXPECT_GE(host->now_ns(), before);
}

TEST(Host, MovesToAProcessorOnceAndMayRunWhereItMightBefore) {
  const auto host = make_real_host();
  const std::vector<int> allowed = cpus_allowed();
  int there = 0;
  for (int round = 0; round < 10; ++round) {
    for (const int cpu : allowed) {
      EXPECT_TRUE(host->move_to_cpu(cpu));
      there += host->cpu() == cpu;
      EXPECT_EQ(cpus_allowed(), allowed);
    }
  }
  EXPECT_GE(there, static_cast<int>(5 * allowed.size())) << "the kernel may have moved it on";
  EXPECT_FALSE(host->move_to_cpu(allowed.back() + 1));
}

TEST(Host, WaitReturnsAtOnceWhenTheWordHasChanged) {
  const auto host = make_real_host();
  Word word{1};
  const std::uint64_t before = host->now_ns();
  host->wait(word, 0, 10 * kSecond_ns);
  EXPECT_LT(host->now_ns() - before, kSecond_ns);
}

TEST(Host, WaitEndsAtItsTimeout) {
  const auto host = make_real_host();
  Word word{0};
  const std::uint64_t before = host->now_ns();
  host->wait(word, 0, 20 * kMillisecond_ns);
  EXPECT_GE(host->now_ns() - before, 15 * kMillisecond_ns);
}

TEST(Host, WakesAcrossProcesses) {
  auto file = create_shared_file("host_test", 4096);
  ASSERT_TRUE(file.ok());
  auto mapping = Mapping::create(*file, 4096);
  ASSERT_TRUE(mapping.ok());
  // 0: start, 1: the child sleeps or is about to, 2: the parent has woken it.
  auto* word = new (mapping->address()) Word{0};
  test::Child child([&] {
    const auto host = make_real_host();
    word->store(1);
    host->wake(*word);
    const std::uint64_t end = host->now_ns() + 10 * kSecond_ns;
    // One sleep would be enough; the loop is for early returns. Without the wake it would last the whole 10 s.
    while (word->load() != 2 && host->now_ns() < end) host->wait(*word, 1, 10 * kSecond_ns);
    return word->load() == 2 && host->now_ns() < end;
  });
  const auto host = make_real_host();
  while (word->load() != 1) host->wait(*word, 0, kSecond_ns);
  host->wait(*word, 1, 30 * kMillisecond_ns);  // so that the child really sleeps
  word->store(2);
  host->wake(*word);
  EXPECT_EQ(child.wait(), 0);
}

TEST(Host, ThreadHasNameProcessorsAndNoSignals) {
  const auto host = make_real_host();
  const std::vector<int> allowed = cpus_allowed();
  ASSERT_FALSE(allowed.empty());
  const std::vector<int> wanted = {allowed.back()};
  char name[32] = {};
  std::vector<int> got;
  sigset_t blocked;
  {
    auto thread = host->start("a name that is too long", wanted, [&] {
      ::pthread_getname_np(::pthread_self(), name, sizeof name);
      got = cpus_allowed();
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    });
    ASSERT_TRUE(thread.ok()) << thread.status().to_string();
  }  // joins
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(sigismember(&blocked, SIGINT));
  EXPECT_FALSE(sigismember(&blocked, SIGSEGV));
  EXPECT_STREQ(name, "a name that is ");
  EXPECT_EQ(cpus_allowed(), allowed) << "the caller's own processors do not change";
}

// As where a sandbox refuses sched_setaffinity, or the processor was taken away.
TEST(Host, ThreadWhoseProcessorsAreRefusedRunsWhereItsProcessDoes) {
  const auto host = make_real_host();
  std::vector<int> got;
  {
    auto thread = host->start("nowhere", {100'000}, [&] { got = cpus_allowed(); });
    ASSERT_TRUE(thread.ok()) << thread.status().to_string();
  }
  EXPECT_EQ(got, cpus_allowed());
}

}  // namespace
}  // namespace grapnel::os
