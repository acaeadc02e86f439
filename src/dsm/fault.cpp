// From a fault to a page that may be accessed.
//
//   home here          map it: bare while no other node has it, else watched
//   valid here         map it watched (after a write, or where it was mapped before, as written), and valid ones
//                      behind it
//   else               the protocol brings what is missing, and look again
//
// Only a page that is valid at that moment is mapped, under a mutex that `unmap_stale` takes, too: between the two a
// thread of the rank may have acquired something newer.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "dsm/protocol.hpp"

namespace grapnel::dsm {

void Heap::on_fault(void* heap, std::uintptr_t address, os::Access access) {
  auto& self = *static_cast<Heap*>(heap);
  const std::size_t page = (address - self.base()) / os::kPageBytes;
  // Where the processor does not say what the access was, a write faults once more.
  if (access == os::Access::unknown && self.trap_->take_write(page)) return;
  self.resolve(page, access == os::Access::write);
}

void Heap::give_up(std::size_t page, const Status& why) {
  core_.launch.abort(
      1, fmt::format("an access to page {} of the shared heap cannot be served: {}", page, why.to_string()));
  std::abort();
}

void Heap::resolve(std::size_t page, bool writes) {
  const Stopwatch watch(core_.host, counts_.trap);
  counts_.faults.add(1);
  if (writes) counts_.write_faults.add(1);
  if (writes && trap_->take_write(page)) return;
  const Status made = make_accessible(page, writes);
  if (!made.ok()) give_up(page, made);
}

Status Heap::make_accessible(std::size_t page, bool writes) {
  const PageWords& words = memory_.words(page);
  for (;;) {
    const std::uint32_t home = words.home.load(std::memory_order_acquire);
    if (home == my_home()) {
      GRAPNEL_ASSIGN_OR_RETURN(const bool mapped, map_home_page(page, writes));
      if (mapped) return {};
    } else if (words.is_valid()) {
      GRAPNEL_ASSIGN_OR_RETURN(const bool mapped, map_valid_page(page, writes));
      if (mapped) return {};
    } else {
      GRAPNEL_TRY(protocol_->make_valid(page));
    }
  }
}

// Where the server serves the page after `is_tracked` was read here, the served log has it, and the next release reads
// that log.
Result<bool> Heap::map_home_page(std::size_t page, bool writes) {
  GRAPNEL_TRY(memory_.use_page(page));
  const Stopwatch watch(core_.host, counts_.map);
  const base::MutexLock lock(mapping_);
  // Under the mutex: `unmap_moved` comes after the home has changed.
  if (memory_.words(page).home.load(std::memory_order_acquire) != my_home()) return false;
  const bool tracked = memory_.words(page).is_tracked();
  GRAPNEL_TRY(trap_->map({page, 1}, tracked && !writes && !mapped_.has(page)));
  mapped_.add(page);
  if (tracked) watched_.add(page);
  return true;
}

Result<bool> Heap::map_valid_page(std::size_t page, bool writes) {
  const Stopwatch watch(core_.host, counts_.map);
  const base::MutexLock lock(mapping_);
  if (!memory_.words(page).is_valid()) return false;
  // A write would be noticed once more: it counts as written from the start. So does a page that was mapped: the kernel
  // has dropped its entry, and with it whether the rank wrote it.
  GRAPNEL_TRY(trap_->map({page, 1}, !writes && !mapped_.has(page)));
  mapped_.add(page);
  watched_.add(page);
  used_.add(page);
  used_together_.add(page);
  GRAPNEL_TRY(map_ahead(page));
  return true;
}

// Valid ones behind it: a mapping costs a tenth of a fault.
Status Heap::map_ahead(std::size_t page) {
  const std::size_t end = std::min(memory_.page_count(), page + settings_.read_ahead);
  std::size_t next = page + 1;
  for (; next < end; ++next) {
    const PageWords& words = memory_.words(next);
    const std::uint32_t home = words.home.load(std::memory_order_acquire);
    if (home == my_home() || !words.is_valid() || mapped_.has(next)) break;
    mapped_.add(next);
    watched_.add(next);
    used_.add(next);
    used_together_.add(next);
  }
  if (next == page + 1) return {};
  counts_.mapped_ahead.add(next - page - 1);
  return trap_->map({page + 1, next - page - 1}, true);
}

Result<os::Pages> Heap::pages_in(const char* call, const void* address, std::size_t bytes) const {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - base();
  if (offset >= memory_.bytes() || bytes > memory_.bytes() - offset) {
    return Status(Code::invalid_argument, fmt::format("{}: [{}, +{}) is not in the shared heap, which is [{:#x}, +{})",
                                                      call, address, bytes, base(), memory_.bytes()));
  }
  const std::size_t first = offset / os::kPageBytes;
  return os::Pages{first, bytes == 0 ? 0 : (offset + bytes - 1) / os::kPageBytes + 1 - first};
}

Status Heap::touch(const void* address, std::size_t bytes, bool writes) {
  GRAPNEL_ASSIGN_OR_RETURN(const os::Pages pages, pages_in("touch", address, bytes));
  if (one_node()) return {};
  for (std::size_t page = pages.first; page < pages.first + pages.count; ++page) {
    if (writes && trap_->take_write(page)) continue;
    GRAPNEL_TRY(make_accessible(page, writes));
  }
  return {};
}

std::byte* Heap::access(std::uintptr_t address, bool writes) {
  const std::uintptr_t offset = address - base();
  GRAPNEL_CHECK(offset < memory_.bytes(), "{:#x} is not in the shared heap", address);
  const std::size_t page = offset / os::kPageBytes;
  while (software_ != nullptr && !software_->access(page, writes)) resolve(page, writes);
  return memory_.page(0) + offset;
}

namespace {

// Calls `part(address, done, bytes)` for each page's part of an access.
template <typename Part>
void for_each_page(const void* address, std::size_t bytes, Part part) {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, os::kPageBytes - at % os::kPageBytes);
    part(at, done, now);
    at += now;
    done += now;
  }
}

}  // namespace

void Heap::load(const void* address, void* value, std::size_t bytes) {
  if (core_.host.has_page_tables()) {
    std::memcpy(value, address, bytes);
    return;
  }
  for_each_page(address, bytes, [&](std::uintptr_t at, std::size_t done, std::size_t now) {
    std::memcpy(static_cast<std::byte*>(value) + done, access(at, false), now);
    core_.host.relax();
  });
}

void Heap::store(void* address, const void* value, std::size_t bytes) {
  if (core_.host.has_page_tables()) {
    std::memcpy(address, value, bytes);
    return;
  }
  for_each_page(address, bytes, [&](std::uintptr_t at, std::size_t done, std::size_t now) {
    std::memcpy(access(at, true), static_cast<const std::byte*>(value) + done, now);
    core_.host.relax();
  });
}

}  // namespace grapnel::dsm
