// A trap by mprotect: each page's protection is what may be done with it, and a fault tells the rest.
//
// Pages of different protections are mappings of their own to the kernel, and a process has a limited number of them
// (vm.max_map_count). Half of it is the most that a trap makes: above that, blocks of pages are unmapped, which joins
// their mappings. They fault once more, and what was written stays known.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/mutex.hpp"
#include "os/page_trap.hpp"

namespace grapnel::os {
namespace {

/// Unreported: written, and unmapped to save mappings.
enum class State : std::uint8_t { unmapped, clean, written, unreported };

/// Pages that are unmapped together to save mappings.
constexpr std::size_t kBlock = 64;
constexpr std::size_t kUsualMappings = 65'530;

int protection_of(State state) {
  if (state == State::written) return PROT_READ | PROT_WRITE;
  return state == State::clean ? PROT_READ : PROT_NONE;
}

std::size_t most_boundaries() {
  std::ifstream limit("/proc/sys/vm/max_map_count");
  std::size_t mappings = 0;
  if (!(limit >> mappings)) mappings = kUsualMappings;
  return mappings / 2;
}

class MprotectTrap final : public PageTrap {
 public:
  explicit MprotectTrap(const TrapRange& range)
      : base_(range.base), most_boundaries_(most_boundaries()), states_(range.bytes / kPageBytes) {}
  ~MprotectTrap() override;

  Status map(Pages pages, bool watched) override;
  Status unmap(Pages pages) override;
  Status collect(std::span<const Pages> runs, std::vector<std::size_t>& written) override;
  bool take_write(std::size_t page) override;

 private:
  Status set(Pages pages, State state) GRAPNEL_REQUIRES(mutex_);
  bool protect(Pages pages, State state) GRAPNEL_REQUIRES(mutex_);
  void save_mappings() GRAPNEL_REQUIRES(mutex_);
  /// Between pages of different protections, from before the first of these to behind the last.
  std::size_t boundaries(Pages pages) const GRAPNEL_REQUIRES(mutex_);

  State wanted(std::size_t page, bool watched) const GRAPNEL_REQUIRES(mutex_) {
    return states_[page] == State::unreported || !watched ? State::written : State::clean;
  }
  bool is_mapped(std::size_t page, bool watched) const GRAPNEL_REQUIRES(mutex_) {
    return states_[page] == State::written || (watched && states_[page] == State::clean);
  }

  const std::uintptr_t base_;
  const std::size_t most_boundaries_;
  base::Mutex mutex_;
  std::vector<State> states_ GRAPNEL_GUARDED_BY(mutex_);
  std::size_t boundaries_ GRAPNEL_GUARDED_BY(mutex_) = 0;
  std::size_t next_block_ GRAPNEL_GUARDED_BY(mutex_) = 0;  ///< of those to be unmapped: they take turns
};

MprotectTrap::~MprotectTrap() {
  const base::MutexLock lock(mutex_);
  // The addresses stay set aside: their owner gives them back.
  (void)::mmap(reinterpret_cast<void*>(base_), states_.size() * kPageBytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

std::size_t MprotectTrap::boundaries(Pages pages) const {
  const std::size_t begin = std::max<std::size_t>(pages.first, 1);
  const std::size_t end = std::min(pages.first + pages.count, states_.size() - 1);
  std::size_t count = 0;
  for (std::size_t page = begin; page <= end; ++page) {
    count += protection_of(states_[page - 1]) != protection_of(states_[page]);
  }
  return count;
}

bool MprotectTrap::protect(Pages pages, State state) {
  void* const begin = reinterpret_cast<void*>(base_ + pages.first * kPageBytes);
  if (::mprotect(begin, pages.count * kPageBytes, protection_of(state)) != 0) return false;
  boundaries_ -= boundaries(pages);
  for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
    const bool hides = state == State::unreported && states_[page] != State::written && states_[page] != state;
    states_[page] = hides ? State::unmapped : state;
  }
  boundaries_ += boundaries(pages);
  return true;
}

// A quarter of them at a time, so that it happens seldom.
void MprotectTrap::save_mappings() {
  const std::size_t blocks = (states_.size() + kBlock - 1) / kBlock;
  for (std::size_t turn = 0; turn < blocks && boundaries_ > most_boundaries_ * 3 / 4; ++turn) {
    const std::size_t first = next_block_ * kBlock;
    next_block_ = (next_block_ + 1) % blocks;
    const Pages block{first, std::min(kBlock, states_.size() - first)};
    if (boundaries(block) > 0) protect(block, State::unreported);
  }
}

Status MprotectTrap::set(Pages pages, State state) {
  if (boundaries_ + 2 > most_boundaries_) save_mappings();
  if (protect(pages, state)) return {};
  if (errno != ENOMEM) {
    return Status(Code::system,
                  fmt::format("protecting pages of the shared heap (mprotect): {}", std::strerror(errno)));
  }
  return Status(Code::no_memory,
                "the kernel has no room for more mappings of the shared heap; raise vm.max_map_count, or use "
                "GRAPNEL_DSM_TRAP=uffd where the kernel has it");
}

Status MprotectTrap::map(Pages pages, bool watched) {
  const base::MutexLock lock(mutex_);
  const std::size_t end = pages.first + pages.count;
  for (std::size_t at = pages.first; at < end;) {
    if (is_mapped(at, watched)) {
      ++at;
      continue;
    }
    std::size_t next = at + 1;
    while (next < end && !is_mapped(next, watched) && wanted(next, watched) == wanted(at, watched)) ++next;
    GRAPNEL_TRY(set({at, next - at}, wanted(at, watched)));
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
  if (boundaries_ + 2 > most_boundaries_) save_mappings();
  if (states_[page] == State::written) return true;
  return states_[page] == State::clean && protect({page, 1}, State::written);
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
