// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/program_data.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <span>

namespace grapnel::tmk {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kCopy = R_X86_64_COPY;
#elif defined(__aarch64__)
constexpr std::uint32_t kCopy = R_AARCH64_COPY;
#endif

struct Hole {
  std::uintptr_t begin, end;
};

/// The program's table for the linker, and what of the writable data must not be copied.
class Program {
 public:
  explicit Program(const dl_phdr_info& module)
      : base_(module.dlpi_addr), headers_(module.dlpi_phdr, module.dlpi_phnum) {
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type == PT_DYNAMIC) read(reinterpret_cast<const ElfW(Dyn)*>(base_ + header.p_vaddr), header);
    }
  }

  ProgramData data() {
    ProgramData data;
    data.address = base_;
    add_holes();
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
      std::uintptr_t at = base_ + header.p_vaddr;
      const std::uintptr_t end = at + header.p_memsz;
      for (const Hole& hole : holes_) {
        add(data, at, std::min(hole.begin, end));
        at = std::max(at, std::min(hole.end, end));
      }
      add(data, at, end);
    }
    return data;
  }

 private:
  static void add(ProgramData& data, std::uintptr_t begin, std::uintptr_t end) {
    if (begin >= end) return;
    data.ranges.push_back({reinterpret_cast<std::byte*>(begin), end - begin});
    data.bytes += end - begin;
  }

  // The loader may have made addresses of these already.
  std::uintptr_t address(ElfW(Addr) value) const { return value < base_ ? base_ + value : value; }

  void read(const ElfW(Dyn) * entry, const ElfW(Phdr) & header) {
    holes_.push_back({base_ + header.p_vaddr, base_ + header.p_vaddr + header.p_memsz});
    std::uintptr_t data = 0, calls = 0;
    std::size_t data_bytes = 0, call_bytes = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_RELA) data = address(entry->d_un.d_ptr);
      if (entry->d_tag == DT_RELASZ) data_bytes = entry->d_un.d_val;
      if (entry->d_tag == DT_JMPREL) calls = address(entry->d_un.d_ptr);
      if (entry->d_tag == DT_PLTRELSZ) call_bytes = entry->d_un.d_val;
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address(entry->d_un.d_ptr));
      if (entry->d_tag == DT_PLTGOT) calls_table_ = address(entry->d_un.d_ptr);
    }
    data_ = {reinterpret_cast<const ElfW(Rela)*>(data), data_bytes / sizeof(ElfW(Rela))};
    calls_ = {reinterpret_cast<const ElfW(Rela)*>(calls), call_bytes / sizeof(ElfW(Rela))};
  }

  void add_holes() {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_GNU_RELRO) continue;  // read-only by now, up to the last whole page
      const std::uintptr_t begin = base_ + header.p_vaddr;
      holes_.push_back({begin, std::max(begin, (begin + header.p_memsz) / page * page)});
    }
    // Three words of the loader's in front of the addresses of functions.
    if (calls_table_ != 0) holes_.push_back({calls_table_, calls_table_ + 3 * sizeof(ElfW(Addr))});
    for (const ElfW(Rela) & one : data_) {
      const auto symbol = ELF64_R_SYM(one.r_info);
      if (symbol == 0) continue;  // an address of the program
      const bool is_copy = ELF64_R_TYPE(one.r_info) == kCopy;
      add_hole(one, is_copy ? symbols_[symbol].st_size : sizeof(ElfW(Addr)));
    }
    for (const ElfW(Rela) & one : calls_) add_hole(one, sizeof(ElfW(Addr)));
    std::sort(holes_.begin(), holes_.end(), [](const Hole& a, const Hole& b) { return a.begin < b.begin; });
  }
  void add_hole(const ElfW(Rela) & one, std::size_t bytes) {
    holes_.push_back({base_ + one.r_offset, base_ + one.r_offset + bytes});
  }

  const std::uintptr_t base_;
  const std::span<const ElfW(Phdr)> headers_;
  std::span<const ElfW(Rela)> data_, calls_;
  const ElfW(Sym) * symbols_ = nullptr;
  std::uintptr_t calls_table_ = 0;
  std::vector<Hole> holes_;
};

// Between objects may lie what a sanitizer guards, so its memcpy would complain; the empty statement keeps the loop.
[[gnu::no_sanitize("address", "thread")]] void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
    __builtin_memcpy(to + at, from + at, sizeof(std::uint64_t));
    asm volatile("" ::: "memory");
  }
  for (; at < bytes; ++at) to[at] = from[at];
}

}  // namespace

ProgramData ProgramData::find() {
  ProgramData found;
  const auto call = [](dl_phdr_info* module, std::size_t, void* context) {
    *static_cast<ProgramData*>(context) = Program(*module).data();
    return 1;  // the program comes first
  };
  ::dl_iterate_phdr(call, &found);
  return found;
}

void ProgramData::copy_to(std::byte* to) const {
  for (const Range& range : ranges) {
    copy_bytes(to, range.begin, range.bytes);
    to += range.bytes;
  }
}

void ProgramData::copy_from(const std::byte* from) const {
  for (const Range& range : ranges) {
    copy_bytes(range.begin, from, range.bytes);
    from += range.bytes;
  }
}

}  // namespace grapnel::tmk
