// A heap's begin and end.
// SPDX-License-Identifier: Apache-2.0
#include "dsm/heap.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/log.hpp"
#include "dsm/hlrc.hpp"
#include "dsm/lrc.hpp"

namespace grapnel::dsm {

Heap::Heap(core::Core& core, sync::Barriers& barriers, HeapParts parts)
    : core_(core),
      barriers_(barriers),
      parts_(std::move(parts)),
      memory_(parts_.memory),
      report_(parts_.report.get()),
      log_(core.launch, core.host, memory_),
      directory_(memory_, core.config.get<Settings>().homes),
      allocator_(memory_),
      queues_(memory_),
      settings_(core.config.get<Settings>()),
      me_(index(core.launch.node())),
      protocol_(make_protocol()),
      mapped_(memory_.page_count()),
      watched_(memory_.page_count()),
      used_(memory_.page_count()),
      carry_(memory_.page_count()) {}

Heap::~Heap() { close(); }

std::unique_ptr<Protocol> Heap::make_protocol() {
  if (parts_.records) return std::make_unique<Lrc>(*this, *parts_.records);
  return std::make_unique<Hlrc>(*this);
}

Status Heap::open_view() {
  if (!core_.host.has_page_tables()) {
    if (one_node()) return {};
    auto software = std::make_unique<os::SoftwareTrap>(memory_.page_count());
    software_ = software.get();
    trap_ = std::move(software);
    return {};
  }
  const auto [file, offset] = memory_.place_in_file();
  if (one_node()) {
    void* const at = reinterpret_cast<void*>(base());
    if (::mmap(at, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset)) ==
        MAP_FAILED) {
      return Status(Code::system, fmt::format("mapping the shared heap (mmap): {}", std::strerror(errno)));
    }
    ::madvise(at, bytes(), MADV_DONTFORK);
    ::madvise(at, bytes(), MADV_DONTDUMP);
    return {};
  }
  GRAPNEL_TRY(choose_trap());
  GRAPNEL_TRY(os::add_fault_range(base(), bytes(), on_fault, this));
  open_ = true;
  return {};
}

Status Heap::choose_trap() {
  const auto [file, offset] = memory_.place_in_file();
  const os::TrapRange range{file, offset, base(), bytes()};
  bool by_uffd = settings_.trap == TrapKind::uffd;
  if (settings_.trap == TrapKind::automatic) {
    const Status tried = os::try_uffd();
    by_uffd = tried.ok();
    if (!by_uffd) base::log_debug("the shared heap uses mprotect: {}", tried.message());
  }
  auto made = by_uffd ? os::make_uffd_trap(range) : os::make_mprotect_trap(range);
  if (!made) return made.status();
  trap_ = *std::move(made);
  return {};
}

void Heap::disbelieve(const std::string& what) {
  core_.launch.abort(1, fmt::format("shared heap: {}, which no program of this version does", what));
  std::abort();
}

void Heap::must(const Status& done) {
  if (done.ok()) return;
  core_.launch.abort(1, fmt::format("shared heap: {}", done.to_string()));
  std::abort();
}

void Heap::close() {
  if (open_) os::remove_fault_range(base());
  open_ = false;
  trap_.reset();
  software_ = nullptr;
}

}  // namespace grapnel::dsm
