// SPDX-License-Identifier: Apache-2.0
#include "shared_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>
#include <new>
#include <utility>

#include "pairs.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint32_t kCommands = 16;

void* futex_of(std::atomic<std::uint32_t>& word) { return &word; }

void sleep_on(void* word, std::uint32_t seen) {
  const timespec timeout{.tv_sec = 0, .tv_nsec = 100'000'000};
  ::syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void wake_all(void* word) { ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

[[noreturn]] void fail(const std::string& path) {
  fmt::print(stderr, "grapnel-bench: cannot map the shared page {}\n", path);
  std::exit(1);
}

BoardPage* map(int descriptor, const std::string& path) {
  void* memory = ::mmap(nullptr, sizeof(BoardPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) fail(path);
  return static_cast<BoardPage*>(memory);
}

}  // namespace

SharedPage SharedPage::create() {
  const int descriptor = ::memfd_create("grapnel-bench", MFD_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(BoardPage)) != 0) fail("(new)");
  return {descriptor, new (map(descriptor, "(new)")) BoardPage};
}

SharedPage SharedPage::create_in(const std::string& folder) {
  std::string path = folder + "/board-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0 || ::ftruncate(descriptor, sizeof(BoardPage)) != 0) fail(path);
  return {descriptor, new (map(descriptor, path)) BoardPage, path};
}

SharedPage SharedPage::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail(path);
  return {descriptor, map(descriptor, path)};
}

SharedPage::SharedPage(SharedPage&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::exchange(other.path_, {})),
      page_(std::exchange(other.page_, nullptr)) {}

SharedPage::~SharedPage() {
  if (page_ != nullptr) ::munmap(page_, sizeof(BoardPage));
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string SharedPage::path() const {
  return path_.empty() ? fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_) : path_;
}

std::uint32_t SharedPage::issue(Command command) {
  const std::uint32_t sequence = page_->command.load(std::memory_order_relaxed) / kCommands + 1;
  const std::uint32_t word = sequence * kCommands + static_cast<std::uint32_t>(command);
  page_->command.store(word, std::memory_order_release);  // pairs with the acquire in `next` and `is_current`
  wake_all(futex_of(page_->command));
  return word;
}

bool SharedPage::wait_done(const std::function<bool()>& alive) {
  const std::uint32_t awaited = page_->command.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t done = page_->done.load(std::memory_order_acquire);  // pairs with the release in `done`
    if (done == awaited) return true;
    if (alive && !alive()) return false;
    sleep_on(futex_of(page_->done), done);
  }
}

std::uint64_t SharedPage::ask(Command command) {
  issue(command);
  wait_done();
  return result();
}

Command SharedPage::next(std::uint32_t& seen) {
  while (is_current(seen)) sleep_on(futex_of(page_->command), seen);
  seen = page_->command.load(std::memory_order_acquire);
  return static_cast<Command>(seen % kCommands);
}

void SharedPage::done(std::uint32_t seen, std::uint64_t result) {
  page_->result.store(result, std::memory_order_relaxed);  // ordered by the next line
  page_->done.store(seen, std::memory_order_release);
  wake_all(futex_of(page_->done));
}

void SharedPage::gather(std::uint32_t ranks, std::uint64_t later_ns) {
  const std::uint32_t seen = page_->gatherings.load(std::memory_order_acquire);
  // acq_rel: the last one's reset follows all arrivals.
  if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    page_->arrived.store(0, std::memory_order_relaxed);  // ordered by `gatherings`, as the next line is
    page_->start_ns.store(now_ns() + later_ns, std::memory_order_relaxed);
    page_->gatherings.store(seen + 1, std::memory_order_release);  // pairs with the acquire in the loop below
    wake_all(futex_of(page_->gatherings));
  }
  while (page_->gatherings.load(std::memory_order_acquire) == seen) sleep_on(futex_of(page_->gatherings), seen);
  sleep_until_ns(page_->start_ns.load(std::memory_order_relaxed));
}

void SharedPage::announce_joined() {
  page_->joined.store(1, std::memory_order_release);
  wake_all(futex_of(page_->joined));
}

bool SharedPage::wait_joined(const std::function<bool()>& alive) {
  while (page_->joined.load(std::memory_order_acquire) == 0) {
    if (!alive()) return false;
    sleep_on(futex_of(page_->joined), 0);
  }
  return true;
}

void SharedPage::raw_phase(std::uint32_t number) {
  __atomic_store_n(&page_->raw_phase, number, __ATOMIC_RELEASE);  // pairs with the acquire in limits/raw_ucx.c
  wake_all(&page_->raw_phase);
  const timespec moment{.tv_sec = 0, .tv_nsec = 20'000};
  while (__atomic_load_n(&page_->raw_awake, __ATOMIC_ACQUIRE) != number) ::nanosleep(&moment, nullptr);
}

void SharedPage::end_raw() {
  __atomic_store_n(&page_->raw_phase, UINT32_MAX, __ATOMIC_RELEASE);
  wake_all(&page_->raw_phase);
}

}  // namespace grapnel::bench
