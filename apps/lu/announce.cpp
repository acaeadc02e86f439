// An allocation at rank 0, a barrier, a get.
// SPDX-License-Identifier: Apache-2.0
#include "announce.hpp"

#include <algorithm>
#include <cstring>

namespace lu {

using grapnel::Rank;

namespace {

/// As it lies in rank 0's memory.
struct Record {
  std::int64_t good;
  std::int64_t number;
  double value;
  char text[1024];
};

}  // namespace

grapnel::Result<Announcement> announce(grapnel::Runtime& runtime, const Announcement& from_rank_0) {
  const bool speaks = runtime.rank() == Rank{0};
  auto memory = runtime.allocate(speaks ? sizeof(Record) : 0);
  if (!memory) return memory.status();
  Record record{};
  if (speaks) {
    record.good = from_rank_0.good;
    record.number = from_rank_0.number;
    record.value = from_rank_0.value;
    const std::size_t length = std::min(from_rank_0.text.size(), sizeof record.text - 1);
    std::memcpy(record.text, from_rank_0.text.data(), length);
    std::memcpy(memory->local(), &record, sizeof record);
  }
  GRAPNEL_TRY(runtime.barrier());
  if (!speaks) GRAPNEL_TRY(runtime.get(memory->on(Rank{0}), &record, sizeof record, Rank{0}));
  GRAPNEL_TRY(runtime.barrier());
  GRAPNEL_TRY(runtime.free(*memory));
  return Announcement{record.good != 0, record.number, record.value, record.text};
}

}  // namespace lu
