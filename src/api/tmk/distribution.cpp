// SPDX-License-Identifier: Apache-2.0
#include "api/tmk/distribution.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "api/tmk/modules.hpp"

namespace grapnel::tmk {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::string_view name_of(std::string_view module) { return module.empty() ? "the program" : module; }

Status not_an_object(const void* object, std::size_t bytes) {
  const auto begin = place_of(object, 1);
  const std::string where = begin ? fmt::format("reach beyond the writable data of {}", name_of(begin->module))
                                  : fmt::format("lie {}, not in a global or static object", kind_of_memory(object));
  return {Code::invalid_argument, fmt::format("{} bytes at {} {}", bytes, object, where)};
}

}  // namespace

/// Followed by the module's name and by the object's bytes.
struct Distribution::Record {
  Record* next;
  std::uint64_t bytes, offset;
  std::uint32_t origin, name_bytes;

  char* name() { return reinterpret_cast<char*>(this + 1); }
  char* data() { return name() + name_bytes; }
  const char* name() const { return reinterpret_cast<const char*>(this + 1); }
  const char* data() const { return name() + name_bytes; }
};

// A whole block of the heap begins at a page and shares it with no other block.
Status Distribution::open(Runtime& runtime, SharedHeap& heap, int lock) {
  heap_ = heap;
  lock_ = lock;
  me_ = static_cast<std::uint32_t>(runtime.rank());
  alone_ = runtime.size() == 1;
  std::uintptr_t address = 0;
  if (me_ == 0) {
    GRAPNEL_ASSIGN_OR_RETURN(void* const page, heap_.allocate(kPageBytes, "list of Tmk_distribute"));
    address = reinterpret_cast<std::uintptr_t>(page);
  }
  GRAPNEL_TRY(runtime.broadcast(&address, sizeof address, Rank{0}));
  list_ = reinterpret_cast<List*>(address);
  return {};
}

bool Distribution::in_heap(const void* object) const {
  const auto offset = reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(heap_.base());
  return offset < heap_.bytes();
}

Result<Distribution::Record*> Distribution::make_record(const void* object, std::size_t bytes) const {
  const auto place = place_of(object, bytes);
  if (!place) return not_an_object(object, bytes);
  SharedHeap heap = heap_;
  GRAPNEL_ASSIGN_OR_RETURN(void* const block,
                           heap.allocate(sizeof(Record) + place->module.size() + bytes, "Tmk_distribute"));
  auto* const record = static_cast<Record*>(block);
  *record = {nullptr, bytes, place->offset, me_, static_cast<std::uint32_t>(place->module.size())};
  std::memcpy(record->name(), place->module.data(), place->module.size());
  std::memcpy(record->data(), object, bytes);
  return record;
}

// A process that has taken all before its own record need not look at the list for it.
void Distribution::append(Record* record) {
  if (list_->last == nullptr) {
    list_->first = record;
  } else {
    list_->last->next = record;
  }
  list_->last = record;
  if (taken_ == list_->count) {
    ++taken_;
    last_taken_ = record;
  }
  __atomic_store_n(&list_->count, list_->count + 1, __ATOMIC_RELAXED);
}

Status Distribution::publish(const void* object, std::size_t bytes) {
  if (bytes == 0 || in_heap(object)) return {};
  GRAPNEL_ASSIGN_OR_RETURN(Record* const record, make_record(object, bytes));
  if (alone_) return heap_.free(record);
  GRAPNEL_TRY(heap_.lock(lock_));
  append(record);
  return heap_.unlock(lock_);
}

Status Distribution::take(const Record& record) const {
  if (record.origin == me_) return {};
  const std::string_view module(record.name(), record.name_bytes);
  void* const object = address_of(module, record.offset, record.bytes);
  if (object == nullptr) {
    return Status(Code::invalid_argument,
                  fmt::format("process {} distributed {} bytes at offset {:#x} of {}; process {} has no such object: "
                              "all processes must load the same files",
                              record.origin, record.bytes, record.offset, name_of(module), me_));
  }
  std::memcpy(object, record.data(), record.bytes);
  return {};
}

Status Distribution::take_under_lock() {
  GRAPNEL_TRY(heap_.lock(lock_));
  while (taken_ != list_->count) {
    Record* const next = last_taken_ == nullptr ? list_->first : last_taken_->next;
    GRAPNEL_TRY(take(*next));
    last_taken_ = next;
    ++taken_;
  }
  return heap_.unlock(lock_);
}

}  // namespace grapnel::tmk
