// A trap by userfaultfd: faults are SIGBUS in the thread that faults, the kernel notes first writes by itself
// (asynchronous write protection), and PAGEMAP_SCAN answers which pages were written.
//
// The scan's mask is "written" alone, its return mask, too: with "present" in it, a page whose entry the kernel dropped
// after a write would be answered as clean, and the write be lost.
//
// Runs that are near each other are scanned in one call. What lies between them may be reported, and is left out of the
// answer. A scan protects what it reports; a page between runs that is mapped bare must not be, or each of its writes
// after a collect would fault. So around such pages a scan only looks, and what was written is protected by calls of
// their own. Those cover written pages only: another page may be written between the scan and the call.
//
// A rank's page table is its own: a store of another rank of the node is in that one's answer only.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/descriptor.hpp"
#include "os/page_trap.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::os {
namespace {

// What Debian 12's headers (Linux 6.1) do not have yet.
constexpr std::uint64_t kFeatureMinorShmem = 1U << 10;
constexpr std::uint64_t kFeatureWpHugetlbfsShmem = 1U << 12;
constexpr std::uint64_t kFeatureWpUnpopulated = 1U << 13;
constexpr std::uint64_t kFeatureWpAsync = 1U << 15;
constexpr std::uint64_t kContinueWriteProtected = 1U << 1;
constexpr int kUserModeOnly = 1;

struct ScanRegion {
  std::uint64_t start, end, categories;
};
struct ScanArguments {
  std::uint64_t size, flags, start, end, walk_end, regions, region_count, most_pages;
  std::uint64_t inverted, mask, any_of, returned;
};
constexpr std::uint64_t kScan = _IOWR('f', 16, ScanArguments);
constexpr std::uint64_t kScanProtects = 1;
constexpr std::uint64_t kScanWritten = 1U << 1;

/// Pages between two runs that are scanned as one: a page costs 2.5 ns, a call as much as 100 to 200 of them.
constexpr std::size_t kMostBetween = 64;

Status lacks(const char* what, int error) {
  return Status(Code::unavailable,
                fmt::format("{}: {}{}", what, std::strerror(error), error == EPERM ? " (a seccomp profile?)" : ""));
}

class UffdTrap final : public PageTrap {
 public:
  UffdTrap(const TrapRange& range, Descriptor faults, Descriptor pagemap)
      : range_(range), faults_(std::move(faults)), pagemap_(std::move(pagemap)), mapped_(range.bytes / kPageBytes) {}
  ~UffdTrap() override;

  Status map(Pages pages, bool watched) override;
  Status unmap(Pages pages) override;
  Status collect(std::span<const Pages> runs, std::vector<std::size_t>& written) override;
  bool take_write(std::size_t) override { return false; }  // the kernel does it

 private:
  std::uint64_t address(std::size_t page) const { return range_.base + page * kPageBytes; }
  void set_mapped(Pages pages, bool mapped) {
    std::fill_n(mapped_.begin() + static_cast<std::ptrdiff_t>(pages.first), pages.count, mapped);
  }
  bool has_mapped(std::size_t begin, std::size_t end) const {
    const auto first = mapped_.begin();
    const auto last = first + static_cast<std::ptrdiff_t>(end);
    return std::find(first + static_cast<std::ptrdiff_t>(begin), last, true) != last;
  }
  Status collect_joined(std::span<const Pages> runs, std::vector<std::size_t>& written);
  template <typename Found>
  Status scan(Pages pages, std::uint64_t flags, Found found);
  Status protect(Pages pages);

  const TrapRange range_;
  const Descriptor faults_, pagemap_;
  std::vector<bool> mapped_;
};

UffdTrap::~UffdTrap() {
  (void)::mmap(reinterpret_cast<void*>(range_.base), range_.bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

Status UffdTrap::map(Pages pages, bool watched) {
  set_mapped(pages, true);
  std::size_t done = 0;
  while (done < pages.count) {
    uffdio_continue order{};
    order.range = {address(pages.first + done), (pages.count - done) * kPageBytes};
    order.mode = watched ? kContinueWriteProtected : 0;
    if (::ioctl(faults_.number(), UFFDIO_CONTINUE, &order) == 0) return {};
    const int error = errno;
    if (order.mapped > 0) {
      done += static_cast<std::size_t>(order.mapped) / kPageBytes;
    } else if (error == EEXIST) {
      ++done;
    } else if (error != EAGAIN && error != EINTR) {
      return Status(error == ENOMEM ? Code::no_memory : Code::system,
                    fmt::format("mapping pages of the shared heap (UFFDIO_CONTINUE): {}", std::strerror(error)));
    }
  }
  return {};
}

Status UffdTrap::unmap(Pages pages) {
  set_mapped(pages, false);
  if (::madvise(reinterpret_cast<void*>(address(pages.first)), pages.count * kPageBytes, MADV_DONTNEED) == 0) return {};
  return Status(Code::system, fmt::format("unmapping pages of the shared heap (madvise): {}", std::strerror(errno)));
}

Status UffdTrap::collect(std::span<const Pages> runs, std::vector<std::size_t>& written) {
  for (std::size_t begin = 0, end = 1; begin < runs.size(); begin = end++) {
    while (end < runs.size() && runs[end].first - (runs[end - 1].first + runs[end - 1].count) <= kMostBetween) ++end;
    GRAPNEL_TRY(collect_joined(runs.subspan(begin, end - begin), written));
  }
  return {};
}

Status UffdTrap::collect_joined(std::span<const Pages> runs, std::vector<std::size_t>& written) {
  bool protects = true;
  for (std::size_t i = 1; i < runs.size() && protects; ++i) {
    protects = !has_mapped(runs[i - 1].first + runs[i - 1].count, runs[i].first);
  }
  const std::size_t before = written.size();
  const Pages* run = runs.data();
  const Pages all{runs.front().first, runs.back().first + runs.back().count - runs.front().first};
  GRAPNEL_TRY(scan(all, protects ? kScanProtects : 0, [&](std::size_t page) {
    while (page >= run->first + run->count) ++run;
    if (page >= run->first) written.push_back(page);
  }));
  if (protects) return {};
  for (std::size_t at = before; at < written.size();) {
    std::size_t next = at + 1;
    while (next < written.size() && written[next] == written[at] + next - at) ++next;
    GRAPNEL_TRY(protect({written[at], next - at}));
    at = next;
  }
  return {};
}

template <typename Found>
Status UffdTrap::scan(Pages pages, std::uint64_t flags, Found found) {
  std::array<ScanRegion, 256> regions;
  ScanArguments scan{};
  scan.size = sizeof scan;
  scan.flags = flags;
  scan.start = address(pages.first);
  scan.end = address(pages.first + pages.count);
  scan.regions = reinterpret_cast<std::uintptr_t>(regions.data());
  scan.region_count = regions.size();
  scan.mask = scan.returned = kScanWritten;
  while (scan.start < scan.end) {
    scan.walk_end = 0;
    const int count = ::ioctl(pagemap_.number(), kScan, &scan);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Status(Code::system, fmt::format("looking for written pages of the shared heap (PAGEMAP_SCAN): {}",
                                              std::strerror(errno)));
    }
    for (int i = 0; i < count; ++i) {
      const ScanRegion& region = regions[static_cast<std::size_t>(i)];
      for (std::uint64_t at = region.start; at < region.end; at += kPageBytes) {
        found(static_cast<std::size_t>((at - range_.base) / kPageBytes));
      }
    }
    scan.start = scan.walk_end;
  }
  return {};
}

Status UffdTrap::protect(Pages pages) {
  uffdio_writeprotect order{};
  order.range = {address(pages.first), pages.count * kPageBytes};
  order.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  while (::ioctl(faults_.number(), UFFDIO_WRITEPROTECT, &order) != 0) {
    if (errno == EAGAIN || errno == EINTR) continue;
    return Status(Code::system,
                  fmt::format("watching pages of the shared heap (UFFDIO_WRITEPROTECT): {}", std::strerror(errno)));
  }
  return {};
}

Result<Descriptor> open_faults() {
  Descriptor faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly)));
  if (!faults.valid()) return lacks("userfaultfd", errno);
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM | kFeatureMinorShmem | kFeatureWpHugetlbfsShmem |
                 kFeatureWpUnpopulated | kFeatureWpAsync | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (::ioctl(faults.number(), UFFDIO_API, &api) != 0) {
    return lacks("userfaultfd without asynchronous write protection (Linux 6.7 has it)", errno);
  }
  return faults;
}

}  // namespace

Result<std::unique_ptr<PageTrap>> make_uffd_trap(const TrapRange& range) {
  GRAPNEL_ASSIGN_OR_RETURN(auto faults, open_faults());
  Descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap.valid()) return lacks("/proc/self/pagemap", errno);
  void* const at = reinterpret_cast<void*>(range.base);
  // Not accessible at first, and not locked: under mlockall the pages would be there before they are watched.
  if (::mmap(at, range.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, range.file, static_cast<off_t>(range.offset)) ==
      MAP_FAILED) {
    return Status(Code::system, fmt::format("mapping the shared heap (mmap): {}", std::strerror(errno)));
  }
  ::munlock(at, range.bytes);
  ::madvise(at, range.bytes, MADV_DONTFORK);
  ::madvise(at, range.bytes, MADV_DONTDUMP);
  uffdio_register order{};
  order.range = {range.base, range.bytes};
  order.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;
  if (::ioctl(faults.number(), UFFDIO_REGISTER, &order) != 0) return lacks("UFFDIO_REGISTER", errno);
  if (::mprotect(at, range.bytes, PROT_READ | PROT_WRITE) != 0) return lacks("mprotect", errno);
  return std::unique_ptr<PageTrap>(std::make_unique<UffdTrap>(range, std::move(faults), std::move(pagemap)));
}

Status try_uffd() {
  constexpr std::size_t kBytes = 2 * kPageBytes;
  GRAPNEL_ASSIGN_OR_RETURN(const auto file, create_shared_file("grapnel-trial", kBytes));
  GRAPNEL_TRY(reserve_shared_file(file, 0, kBytes));
  void* const at = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return Status(Code::system, fmt::format("mmap: {}", std::strerror(errno)));
  Status tried;
  {
    auto trap = make_uffd_trap({file.number(), 0, reinterpret_cast<std::uintptr_t>(at), kBytes});
    tried = trap.status();
    if (tried.ok()) tried = (*trap)->map({0, 2}, true);
    std::vector<std::size_t> written;
    const Pages both{0, 2};
    if (tried.ok()) *static_cast<volatile char*>(at) = 1;
    if (tried.ok()) tried = (*trap)->collect({&both, 1}, written);
    if (tried.ok() && written != std::vector<std::size_t>{0}) {
      tried = Status(Code::unavailable, "PAGEMAP_SCAN does not report what was written");
    }
  }
  ::munmap(at, kBytes);
  return tried;
}

}  // namespace grapnel::os
