// Memory: collective, of a group, offered to others without a collective call, and one's own buffers.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "api/armci/define.hpp"
#include "api/armci/errors.hpp"
#include "api/armci/rank_waits.hpp"

using grapnel::AtomicDomain;
using grapnel::Code;
using grapnel::Group;
using grapnel::Memory;
using grapnel::Rank;
using grapnel::Result;
using grapnel::Status;
using namespace grapnel::armci;

namespace grapnel::armci {
namespace {

/// A request that no machine grants: so the others of a collective call are refused too, and do not wait.
constexpr std::size_t kImpossible = std::size_t{1} << 60;

constexpr int kNobody = std::numeric_limits<int>::max();

/// All members have refused: the rank that did so because of its arguments, or kNobody. Collective.
int first_with_bad_arguments(const char* call, const GroupEntry& group, const Status& refused, bool mine_are_good) {
  if (refused.code() == Code::peer_dead) return kNobody;
  const int mine = mine_are_good ? kNobody : group.members[static_cast<std::size_t>(group.my_index)];
  int first = kNobody;
  must_mpi(call, MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, group.comm));
  return first;
}

/// The device "network" is the network domain: the adapter of the memory's node updates its words. Others are memory.
AtomicDomain domain_of(const char* device) {
  return device != nullptr && std::strcmp(device, "network") == 0 ? AtomicDomain::network : AtomicDomain::processor;
}

int allocate(const char* call, void** pointers, armci_size_t bytes, const ARMCI_Group* group,
             AtomicDomain domain = AtomicDomain::processor) {
  return answer(call, [&](Job& job) -> Status {
    const ARMCI_Group world = job.groups.world_handle();
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group != nullptr ? group : &world));
    Status earlier;
    GRAPNEL_TRY(meet(call, job, entry->core, earlier));
    if (!earlier.ok()) report(call, earlier);  // the memory is there all the same
    const bool usable = bytes >= 0 && pointers != nullptr;
    const std::size_t wanted = usable ? static_cast<std::size_t>(bytes) : kImpossible;
    const auto memory = job.runtime->allocate(entry->core, wanted, domain);
    const int culprit = memory.ok() ? kNobody : first_with_bad_arguments(call, *entry, memory.status(), usable);
    if (bytes < 0) return negative("bytes", bytes);
    if (pointers == nullptr) return null_pointer("pointers");
    if (culprit != kNobody) return {Code::invalid_argument, fmt::format("rank {} refuses its arguments", culprit)};
    if (!memory) return memory.status();
    for (const int member : entry->members) *pointers++ = memory->on(Rank{member});
    return {};
  });
}

/// The allocation whose part of the caller begins at `pointer`, as the core names it.
Memory named(const Group& group, void* pointer, Rank me) {
  const auto members = static_cast<std::size_t>(group.size());
  return Memory(group, std::vector<void*>(members, pointer), std::vector<std::size_t>(members), me);
}

int release(const char* call, void* pointer, const ARMCI_Group* group) {
  return answer(call, [&](Job& job) -> Status {
    const ARMCI_Group world = job.groups.world_handle();
    GRAPNEL_ASSIGN_OR_RETURN(const auto entry, job.groups.find_mine(group != nullptr ? group : &world));
    const Group& core = entry->core;
    Status earlier;
    GRAPNEL_TRY(meet(call, job, core, earlier));
    GRAPNEL_TRY(job.runtime->free(core, named(core, pointer, job.runtime->rank())));
    return earlier;
  });
}

}  // namespace
}  // namespace grapnel::armci

ARMCI_DEFINE(int, Malloc, (void** pointers, armci_size_t bytes)) {
  return allocate("ARMCI_Malloc", pointers, bytes, nullptr);
}

ARMCI_DEFINE(int, Malloc_memdev, (void** pointers, armci_size_t bytes, const char* device)) {
  return allocate("ARMCI_Malloc_memdev", pointers, bytes, nullptr, domain_of(device));
}

ARMCI_DEFINE(int, Malloc_group, (void** pointers, armci_size_t bytes, ARMCI_Group* group)) {
  if (group == nullptr) return report("ARMCI_Malloc_group", null_pointer("group"));
  return allocate("ARMCI_Malloc_group", pointers, bytes, group);
}

ARMCI_DEFINE(int, Malloc_group_memdev, (void** pointers, armci_size_t bytes, ARMCI_Group* group, const char* device)) {
  if (group == nullptr) return report("ARMCI_Malloc_group_memdev", null_pointer("group"));
  return allocate("ARMCI_Malloc_group_memdev", pointers, bytes, group, domain_of(device));
}

ARMCI_DEFINE(int, Free, (void* pointer)) { return release("ARMCI_Free", pointer, nullptr); }

ARMCI_DEFINE(int, Free_memdev, (void* pointer)) { return release("ARMCI_Free_memdev", pointer, nullptr); }

ARMCI_DEFINE(int, Free_group, (void* pointer, ARMCI_Group* group)) {
  if (group == nullptr) return report("ARMCI_Free_group", null_pointer("group"));
  return release("ARMCI_Free_group", pointer, group);
}

// ---- one's own buffers ----

ARMCI_DEFINE(void*, Malloc_local, (armci_size_t bytes)) {
  void* buffer = nullptr;
  answer("ARMCI_Malloc_local", [&](Job& job) -> Status {
    if (bytes < 0) return negative("bytes", bytes);
    LocalBuffer owned(new (std::align_val_t{kCacheLine}, std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
    if (!owned) return {Code::no_memory, fmt::format("{} bytes were refused", bytes)};
    const grapnel::base::MutexLock guard(job.own_mutex);
    buffer = owned.get();
    job.local_buffers.emplace(buffer, std::move(owned));
    return {};
  });
  return buffer;
}

ARMCI_DEFINE(int, Free_local, (void* pointer)) {
  return answer("ARMCI_Free_local", [&](Job& job) -> Status {
    const grapnel::base::MutexLock guard(job.own_mutex);
    if (job.local_buffers.erase(pointer) == 0) {
      return {Code::invalid_argument, fmt::format("{} is not of ARMCI_Malloc_local, or was freed", pointer)};
    }
    return {};
  });
}

// ---- memory offered to others ----

ARMCI_DEFINE(void, Memget, (size_t bytes, armci_meminfo_t* meminfo, int flags)) {
  static_cast<void>(flags);
  if (meminfo == nullptr) stop("ARMCI_Memget", null_pointer("meminfo"));
  *meminfo = {};
  answer("ARMCI_Memget", [&](Job& job) -> Status {
    const Rank me = job.runtime->rank();
    meminfo->cpid = job.me;
    if (bytes == 0) return {};
    GRAPNEL_ASSIGN_OR_RETURN(const auto alone, job.runtime->make_group({&me, 1}));
    const grapnel::base::MutexLock guard(job.own_mutex);
    GRAPNEL_ASSIGN_OR_RETURN(auto memory, job.runtime->allocate(alone, bytes));
    void* const start = memory.local();
    meminfo->armci_addr = meminfo->addr = static_cast<char*>(start);
    meminfo->size = bytes;
    job.offered.emplace(start, std::move(memory));
    return {};
  });
}

ARMCI_DEFINE(void*, Memat, (armci_meminfo_t * meminfo, long offset)) {
  return value_of("ARMCI_Memat", [&](Job&) -> Result<void*> {
    if (meminfo == nullptr) return null_pointer("meminfo");
    if (offset < 0 || static_cast<std::size_t>(offset) > meminfo->size) {
      return Status(Code::invalid_argument, fmt::format("offset {} is outside 0..{}", offset, meminfo->size));
    }
    return static_cast<void*>(meminfo->armci_addr + offset);
  });
}

ARMCI_DEFINE(void, Memdt, (armci_meminfo_t * meminfo, long offset)) {
  static_cast<void>(offset);
  if (meminfo == nullptr) stop("ARMCI_Memdt", null_pointer("meminfo"));
}

ARMCI_DEFINE(void, Memctl, (armci_meminfo_t * meminfo)) {
  must("ARMCI_Memctl", [&](Job& job) -> Status {
    if (meminfo == nullptr) return null_pointer("meminfo");
    // Others than the creator give nothing back, and where there is no memory none does.
    if (meminfo->cpid != job.me || meminfo->armci_addr == nullptr) return {};
    const grapnel::base::MutexLock guard(job.own_mutex);
    const auto found = job.offered.find(meminfo->armci_addr);
    if (found == job.offered.end()) {
      return {Code::invalid_argument,
              fmt::format("{} is not of ARMCI_Memget, or was freed", static_cast<void*>(meminfo->armci_addr))};
    }
    const Rank me = job.runtime->rank();
    const Memory memory = std::move(found->second);
    job.offered.erase(found);
    GRAPNEL_ASSIGN_OR_RETURN(const auto alone, job.runtime->make_group({&me, 1}));
    return job.runtime->free(alone, memory);
  });
}

// ---- what memory is like here ----

ARMCI_DEFINE(void, Set_shm_limit, (unsigned long bytes)) { static_cast<void>(bytes); }

ARMCI_DEFINE(int, Uses_shm, (void)) { return 1; }

ARMCI_DEFINE(int, Uses_shm_grp, (ARMCI_Group * group)) {
  return value_of("ARMCI_Uses_shm_grp", [&](Job& job) -> Result<int> {
    GRAPNEL_TRY(job.groups.find(group).status());
    return 1;
  });
}

ARMCI_DEFINE(void, Access_begin, (void* pointer)) {
  static_cast<void>(pointer);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

ARMCI_DEFINE(void, Access_end, (void* pointer)) {
  static_cast<void>(pointer);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
