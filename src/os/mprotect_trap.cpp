// A trap by mprotect: each page's protection is what may be done with it, and a fault tells the rest.
//
// Where the kernel has no room for another mapping (vm.max_map_count: alternating protections are a mapping each), the
// pages around are unmapped together, which needs less of them; they fault once more, and what was written stays known.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/mutex.hpp"
#include "os/page_trap.hpp"

namespace grapnel::os {
namespace {

/// Unreported: written, and unmapped because the kernel had no room.
enum class State : std::uint8_t { unmapped, clean, written, unreported };

// Unmapped together where the kernel runs out of mappings.
constexpr std::size_t kAround = 64;

class MprotectTrap final : public PageTrap {
 public:
  explicit MprotectTrap(const TrapRange& range) : base_(range.base), states_(range.bytes / kPageBytes) {}
  ~MprotectTrap() override;

  Status map(Pages pages, bool watched) override;
  Status unmap(Pages pages) override;
  Status collect(std::span<const Pages> runs, std::vector<std::size_t>& written) override;
  bool take_write(std::size_t page) override;

 private:
  Status set(Pages pages, State state) GRAPNEL_REQUIRES(mutex_);
  bool protect(Pages pages, State state) GRAPNEL_REQUIRES(mutex_);
  void make_room(std::size_t page) GRAPNEL_REQUIRES(mutex_);

  const std::uintptr_t base_;
  base::Mutex mutex_;
  std::vector<State> states_ GRAPNEL_GUARDED_BY(mutex_);
};

MprotectTrap::~MprotectTrap() {
  const base::MutexLock lock(mutex_);
  // The addresses stay set aside: their owner gives them back.
  ::mmap(reinterpret_cast<void*>(base_), states_.size() * kPageBytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool MprotectTrap::protect(Pages pages, State state) {
  const int protection = state == State::written ? PROT_READ | PROT_WRITE
                         : state == State::clean ? PROT_READ
                                                 : PROT_NONE;
  void* const begin = reinterpret_cast<void*>(base_ + pages.first * kPageBytes);
  if (::mprotect(begin, pages.count * kPageBytes, protection) != 0) return false;
  std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(pages.first), pages.count, state);
  return true;
}

// Always possible: one mapping takes the place of several.
void MprotectTrap::make_room(std::size_t page) {
  const std::size_t first = page / kAround * kAround;
  const std::size_t count = std::min(kAround, states_.size() - first);
  void* const begin = reinterpret_cast<void*>(base_ + first * kPageBytes);
  if (::mprotect(begin, count * kPageBytes, PROT_NONE) != 0) return;
  for (std::size_t at = first; at < first + count; ++at) {
    states_[at] = states_[at] == State::written || states_[at] == State::unreported ? State::unreported
                                                                                    : State::unmapped;
  }
}

Status MprotectTrap::set(Pages pages, State state) {
  if (protect(pages, state)) return {};
  if (errno == ENOMEM) {
    make_room(pages.first);
    if (protect(pages, state)) return {};
  }
  if (errno != ENOMEM) {
    return Status(Code::system, fmt::format("protecting pages of the shared heap (mprotect): {}", std::strerror(errno)));
  }
  return Status(Code::no_memory,
                "the kernel has no room for more mappings of the shared heap; raise vm.max_map_count, or use "
                "GRAPNEL_DSM_TRAP=uffd where the kernel has it");
}

Status MprotectTrap::map(Pages pages, bool watched) {
  const base::MutexLock lock(mutex_);
  const auto wanted = [&](std::size_t at) {
    return states_[at] == State::unreported || !watched ? State::written : State::clean;
  };
  const auto is_mapped = [&](std::size_t at) {
    return states_[at] == State::clean || states_[at] == State::written;
  };
  const std::size_t end = pages.first + pages.count;
  for (std::size_t at = pages.first; at < end;) {
    if (is_mapped(at)) {
      ++at;
      continue;
    }
    std::size_t next = at + 1;
    while (next < end && !is_mapped(next) && wanted(next) == wanted(at)) ++next;
    GRAPNEL_TRY(set({at, next - at}, wanted(at)));
    at = next;
  }
  return {};
}

Status MprotectTrap::unmap(Pages pages) {
  const base::MutexLock lock(mutex_);
  return set(pages, State::unmapped);
}

// A page that was unmapped for want of room stays so.
Status MprotectTrap::collect(std::span<const Pages> runs, std::vector<std::size_t>& written) {
  const base::MutexLock lock(mutex_);
  for (const Pages& run : runs) {
    const std::size_t end = run.first + run.count;
    for (std::size_t at = run.first; at < end;) {
      const State state = states_[at];
      if (state != State::written && state != State::unreported) {
        ++at;
        continue;
      }
      std::size_t next = at;
      for (; next < end && states_[next] == state; ++next) written.push_back(next);
      GRAPNEL_TRY(set({at, next - at}, state == State::written ? State::clean : State::unmapped));
      at = next;
    }
  }
  return {};
}

// Written already: another thread has made it accessible since the fault.
bool MprotectTrap::take_write(std::size_t page) {
  const base::MutexLock lock(mutex_);
  if (states_[page] == State::written) return true;
  if (states_[page] != State::clean) return false;
  if (protect({page, 1}, State::written)) return true;
  make_room(page);
  return protect({page, 1}, State::written);
}

}  // namespace

Result<std::unique_ptr<PageTrap>> make_mprotect_trap(const TrapRange& range) {
  void* const at = reinterpret_cast<void*>(range.base);
  if (::mmap(at, range.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, range.file, static_cast<off_t>(range.offset)) ==
      MAP_FAILED) {
    return Status(Code::system, fmt::format("mapping the shared heap (mmap): {}", std::strerror(errno)));
  }
  ::madvise(at, range.bytes, MADV_DONTFORK);
  ::madvise(at, range.bytes, MADV_DONTDUMP);
  return std::unique_ptr<PageTrap>(std::make_unique<MprotectTrap>(range));
}

}  // namespace grapnel::os
