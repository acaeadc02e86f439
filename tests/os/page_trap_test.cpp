// Traps on pages, and the process's handler of their faults, alone: both kinds answer the same.
// SPDX-License-Identifier: Apache-2.0
#include "os/page_trap.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <mutex>
#include <thread>
#include <vector>

#include "os/address_pool.hpp"
#include "os/fault_handler.hpp"
#include "os/shared_memory.hpp"

// The calls of a trap by userfaultfd are counted here: the program's own `ioctl` precedes libc's.
static std::atomic<int> ioctl_calls{0};

extern "C" int ioctl(int file, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  ++ioctl_calls;
  return static_cast<int>(::syscall(SYS_ioctl, file, request, argument));
}

namespace grapnel::os {
namespace {

using Numbers = std::vector<std::size_t>;

// A file of pages, the alias, and a view under a trap whose faults map what was asked for.
class View {
 public:
  View(const char* kind, std::size_t pages) : pages_(pages), mapped_(pages) {
    file_ = create_shared_file("grapnel-test", pages * kPageBytes).value();
    EXPECT_TRUE(reserve_shared_file(file_, 0, pages * kPageBytes).ok());
    alias_ = Mapping::create(file_, pages * kPageBytes).value();
    addresses_ = AddressPool::reserve(0, pages * kPageBytes).value();
    const TrapRange range{file_.number(), 0, addresses_->base(), pages * kPageBytes};
    auto made = std::string(kind) == "uffd" ? make_uffd_trap(range) : make_mprotect_trap(range);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    trap_ = std::move(made).value();
    EXPECT_TRUE(add_fault_range(base(), pages * kPageBytes, fault, this).ok());
  }
  ~View() { remove_fault_range(base()); }

  volatile std::uint8_t& operator[](std::size_t page) const {
    return *reinterpret_cast<std::uint8_t*>(base() + page * kPageBytes);
  }
  std::uint8_t& at_home(std::size_t page) const {
    return static_cast<std::uint8_t*>(alias_.address())[page * kPageBytes];
  }
  std::uintptr_t base() const { return addresses_->base(); }
  /// Of all pages that are mapped.
  Numbers collect() {
    std::vector<Pages> runs;
    for (std::size_t page = 0; page < pages_; ++page) {
      if (mapped_[page] != 0) runs.push_back({page, 1});
    }
    return collect(runs);
  }
  Numbers collect(const std::vector<Pages>& runs) {
    Numbers written;
    EXPECT_TRUE(trap_->collect(runs, written).ok());
    return written;
  }
  void unmap(Pages pages) {
    EXPECT_TRUE(trap_->unmap(pages).ok());
    std::fill_n(mapped_.begin() + static_cast<std::ptrdiff_t>(pages.first), pages.count, 0);
  }

  std::atomic<int> faults{0}, write_faults{0};
  std::mutex mapping;

 private:
  static void fault(void* context, std::uintptr_t address, Access access) {
    auto& self = *static_cast<View*>(context);
    const std::size_t page = (address - self.base()) / kPageBytes;
    ++self.faults;
    if (access == Access::write) ++self.write_faults;
    if (access != Access::read && self.trap_->take_write(page)) return;
    const std::lock_guard lock(self.mapping);
    EXPECT_TRUE(self.trap_->map({page, 1}, access == Access::read && self.mapped_[page] == 0).ok());
    self.mapped_[page] = 1;
  }

  const std::size_t pages_;
  std::vector<char> mapped_;
  Descriptor file_;
  Mapping alias_;
  std::unique_ptr<AddressPool> addresses_;
  std::unique_ptr<PageTrap> trap_;
};

class Trap : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) != "uffd") return;
    const Status tried = try_uffd();
    if (!tried.ok()) GTEST_SKIP() << tried.message();
  }
};

TEST_P(Trap, NoticesReadsAndWrites) {
  View view(GetParam(), 8);
  view.at_home(1) = 42;
  EXPECT_EQ(view[1], 42);
  EXPECT_EQ(view.faults, 1);
  EXPECT_EQ(view.write_faults, 0);
  EXPECT_EQ(view.collect(), Numbers{});
  view[1] = 43;
  view[3] = 1;
  EXPECT_EQ(view.at_home(1), 43);
  EXPECT_EQ(view.collect(), (Numbers{1, 3})) << "a page that a write faulted in counts as written";
  EXPECT_EQ(view.collect(), Numbers{});
  const int before = view.faults;
  view[3] = 2;
  EXPECT_LE(view.faults, before + 1) << "it is mapped: a first write at most is noticed";
  EXPECT_EQ(view.collect(), Numbers{3});
}

TEST_P(Trap, WhatTheAliasWritesIsNoWriteOfTheProgram) {
  View view(GetParam(), 4);
  EXPECT_EQ(view[2], 0);
  view.at_home(2) = 9;
  EXPECT_EQ(view.collect(), Numbers{});
  EXPECT_EQ(view[2], 9);
}

TEST_P(Trap, AnUnmappedPageFaultsAgain) {
  View view(GetParam(), 8);
  for (std::size_t page = 0; page < 8; ++page) EXPECT_EQ(view[page], 0);
  const int before = view.faults;
  view.unmap({2, 3});
  view.at_home(3) = 7;
  EXPECT_EQ(view[3], 7);
  EXPECT_EQ(view[6], 0);
  EXPECT_EQ(view.faults, before + 1);
}

// As reclaim does it.
TEST(UffdTrap, AWriteWhoseEntryWasDroppedIsReported) {
  if (const Status tried = try_uffd(); !tried.ok()) GTEST_SKIP() << tried.message();
  View view("uffd", 4);
  EXPECT_EQ(view[0], 0);
  EXPECT_EQ(view[1], 0);
  EXPECT_EQ(view.collect(), Numbers{});
  view[1] = 5;
  for (const std::size_t page : {0U, 1U}) {
    ASSERT_EQ(::madvise(reinterpret_cast<void*>(view.base() + page * kPageBytes), kPageBytes, MADV_DONTNEED), 0);
  }
  EXPECT_EQ(view.collect(), Numbers{1});
  EXPECT_EQ(view[1], 5);
  // Read again before it is asked for: what was mapped before counts as written.
  view[1] = 6;
  ASSERT_EQ(::madvise(reinterpret_cast<void*>(view.base() + kPageBytes), kPageBytes, MADV_DONTNEED), 0);
  EXPECT_EQ(view[1], 6);
  EXPECT_EQ(view.collect(), Numbers{1});
}

int ioctls_of_collect(View& view, const std::vector<Pages>& runs, const Numbers& expected) {
  const int before = ioctl_calls;
  EXPECT_EQ(view.collect(runs), expected);
  return ioctl_calls - before;
}

TEST(UffdTrap, RunsThatAreNearAreScannedInOneCall) {
  if (const Status tried = try_uffd(); !tried.ok()) GTEST_SKIP() << tried.message();
  View view("uffd", 400);
  std::vector<Pages> runs;
  for (std::size_t page = 0; page < 400; page += 2) {
    EXPECT_EQ(view[page], 0);
    runs.push_back({page, 1});
  }
  EXPECT_EQ(ioctls_of_collect(view, runs, {}), 1);
  Numbers written;
  for (std::size_t page = 0; page < 400; page += 2) {
    view[page] = 1;
    written.push_back(page);
  }
  EXPECT_EQ(ioctls_of_collect(view, runs, written), 1);
  EXPECT_EQ(ioctls_of_collect(view, runs, {}), 1);
  // The pages between are still not mapped, and are then like any other.
  const int before = view.faults;
  EXPECT_EQ(view[1], 0);
  view[3] = 5;
  EXPECT_EQ(view.faults, before + 2);
  EXPECT_EQ(view.collect(), Numbers{3});
  view[1] = 6;
  EXPECT_EQ(view.collect(), Numbers{1});
  EXPECT_EQ(view.at_home(1), 6);
}

TEST(UffdTrap, RunsThatAreFarFromEachOtherAreACallEach) {
  if (const Status tried = try_uffd(); !tried.ok()) GTEST_SKIP() << tried.message();
  View view("uffd", 200);
  for (const std::size_t page : {0U, 65U, 131U}) EXPECT_EQ(view[page], 0);
  view[131] = 1;
  EXPECT_EQ(ioctls_of_collect(view, {{0, 1}, {65, 1}, {131, 1}}, {131}), 2) << "64 and 65 pages between them";
}

TEST(UffdTrap, BarePagesBetweenRunsStayBare) {
  if (const Status tried = try_uffd(); !tried.ok()) GTEST_SKIP() << tried.message();
  View view("uffd", 16);
  for (const std::size_t page : {0U, 2U, 4U, 5U}) EXPECT_EQ(view[page], 0);
  view[1] = 1;  // a write that faults maps it bare
  const std::vector<Pages> watched{{0, 1}, {2, 1}, {4, 2}};
  EXPECT_EQ(ioctls_of_collect(view, watched, {}), 1);
  for (const std::size_t page : {0U, 4U, 5U}) view[page] = 1;
  EXPECT_EQ(ioctls_of_collect(view, watched, {0, 4, 5}), 3) << "a scan, and a call for each run that was written";
  EXPECT_EQ(ioctls_of_collect(view, watched, {}), 1);
  EXPECT_EQ(view.collect(), Numbers{1}) << "it counts as written";
  view[2] = 2;
  EXPECT_EQ(view.collect(), Numbers{2});
}

TEST_P(Trap, ManyAlternatingPages) {
  constexpr std::size_t kPages = 131'072;  // more mappings than vm.max_map_count has by default
  View view(GetParam(), kPages);
  Numbers expected;
  for (std::size_t page = 0; page < kPages; page += 2) {
    view[page] = 1;
    expected.push_back(page);
  }
  EXPECT_EQ(view.collect(), expected);
  EXPECT_EQ(view.collect(), Numbers{});
  for (std::size_t page = 0; page < kPages; page += 4096) EXPECT_EQ(view[page], 1);
}

// Each thread adds to its own word of the pages while they are unmapped again and again.
TEST_P(Trap, ThreadsFaultWhileAnotherUnmaps) {
  constexpr int kThreads = 8, kRounds = 300;
  View view(GetParam(), 4);
  std::vector<std::jthread> threads;
  std::atomic<int> running{kThreads};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        for (std::size_t page = 0; page < 4; ++page) {
          auto* const word = reinterpret_cast<volatile int*>(view.base() + page * kPageBytes) + thread;
          *word = *word + 1;
        }
      }
      --running;
    });
  }
  while (running > 0) {
    const std::lock_guard lock(view.mapping);
    view.unmap({0, 4});
  }
  threads.clear();
  for (std::size_t page = 0; page < 4; ++page) {
    for (int thread = 0; thread < kThreads; ++thread) {
      EXPECT_EQ(reinterpret_cast<int*>(&view.at_home(page))[thread], kRounds);
    }
  }
}

TEST_P(Trap, SystemCallsFailOnWhatIsNotMapped) {
  View view(GetParam(), 2);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(view[1], 0);
  void* const absent = reinterpret_cast<void*>(view.base());
  EXPECT_EQ(::write(ends[1], absent, 8), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(::write(ends[1], reinterpret_cast<void*>(view.base() + kPageBytes), 8), 8);
  ::close(ends[0]);
  ::close(ends[1]);
}

// A fault outside goes to the program's handler; a child has no view, and its access is an ordinary fault.
std::atomic<int> foreign_faults{0};
void* foreign_page = nullptr;
void on_foreign_fault(int) {
  ++foreign_faults;
  ::mprotect(foreign_page, kPageBytes, PROT_READ | PROT_WRITE);
}

TEST_P(Trap, OtherFaultsGoToTheHandlerThatWasThere) {
  View view(GetParam(), 2);
  // By the signal, or by a sanitizer's handler of it, which was there and ends the process with a code.
  const auto child_dies = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGALRM, SIG_DFL);
      ::alarm(10);
      const std::uint8_t value = view[0];
      static_cast<void>(value);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0;
  };
  EXPECT_TRUE(child_dies());
  EXPECT_EQ(view[0], 0) << "the parent has it still";
}

INSTANTIATE_TEST_SUITE_P(Both, Trap, ::testing::Values("uffd", "mprotect"),
                         [](const auto& test) { return std::string(test.param); });

// Set before the first range: the process's handler passes on what is not its own.
TEST(FaultHandler, PassesOnWhatIsNotItsOwn) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, on_foreign_fault);
    foreign_page = ::mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto nothing = [](void*, std::uintptr_t, Access) {};
    // A process of its own, with no handler of ours yet: the parent's is not the child's.
    if (!add_fault_range(0x1000, 0x1000, nothing, nullptr).ok()) ::_exit(2);
    *static_cast<volatile char*>(foreign_page) = 1;
    ::_exit(foreign_faults == 1 ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Set since: by the call that front ends use.
TEST(FaultHandler, TheProgramChangesItsAction) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct sigaction ours {
    }, found{};
    ours.sa_handler = on_foreign_fault;
    ours.sa_flags = SA_RESETHAND;
    const auto nothing = [](void*, std::uintptr_t, Access) {};
    if (!add_fault_range(0x1000, 0x1000, nothing, nullptr).ok()) ::_exit(3);
    if (exchange_program_action(SIGUSR1, &ours, &found)) ::_exit(4);
    if (!exchange_program_action(SIGSEGV, &ours, nullptr)) ::_exit(5);
    if (!exchange_program_action(SIGSEGV, nullptr, &found) || found.sa_handler != on_foreign_fault) ::_exit(6);
    foreign_page = ::mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(foreign_page) = 1;
    if (!exchange_program_action(SIGSEGV, nullptr, &found) || found.sa_handler != SIG_DFL) ::_exit(7);
    ::_exit(foreign_faults == 1 ? 0 : 8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace grapnel::os
