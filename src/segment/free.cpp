// The collective release.
//
// Exchange 1: every member sends which allocation it means. All are then done with it, and all decide in the same way
// whether they mean the same one. The rank that claimed a node's range gives it back. Exchange 2: it is gone for all.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "exchange/agreement.hpp"
#include "segment/internal/live.hpp"
#include "transport/pages.hpp"

namespace grapnel::segment {

using exchange::blame;
using exchange::exchange_answers;

namespace {

enum class Meant : std::uint32_t {
  nothing,     // the address is not the beginning of the caller's part of an allocation of this group
  empty_part,  // null: the one that the others mean, or the oldest without memory
  number,      // the group's allocation of that number
};

struct Wish {
  Meant meant = Meant::nothing;
  std::uint64_t number = 0;
  std::uint64_t address = 0;
};

std::optional<Wish> read_wish(base::Decoder& in) {
  const auto meant = in.get<std::uint32_t>();
  const auto number = in.get<std::uint64_t>();
  const auto address = in.get<std::uint64_t>();
  if (!meant || !number || !address || *meant > static_cast<std::uint32_t>(Meant::number)) return std::nullopt;
  return Wish{static_cast<Meant>(*meant), *number, *address};
}

Status mistake(const launch::Group& group, std::size_t member, const std::string& what) {
  return blame(group, member, Status(Code::invalid_argument, what));
}

// The number that a member named, unless two differ or an address was wrong; nothing when all passed null.
Result<std::optional<std::uint64_t>> number_meant(const launch::Group& group, const std::vector<Wish>& wishes) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const Wish& wish = wishes[i];
    if (wish.meant == Meant::nothing) {
      return mistake(group, i,
                     fmt::format("free of {:#x}: no part of its own of a live allocation of this group of {} ranks "
                                 "begins there (freed twice?)",
                                 wish.address, group.size()));
    }
    if (wish.meant != Meant::number) continue;
    if (first && wishes[*first].number != wish.number) {
      return mistake(group, i,
                     fmt::format("free of {:#x}: rank {} frees another allocation of this group at the same time",
                                 wish.address, index(group.members[*first])));
    }
    if (!first) first = i;
  }
  if (!first) return std::optional<std::uint64_t>{};
  return std::optional<std::uint64_t>{wishes[*first].number};
}

}  // namespace

Status SegmentTable::free(const launch::Group& group, void* address) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto key, agree_on_victim(group, address));
  const auto found = live_.find(key);
  const std::unique_ptr<Live> live = std::move(found->second);
  live_.erase(found);
  if (void* mine = live->parts[group.my_index].address) by_my_address_.erase(mine);
  forget(*live);
  transport::forget_pages(live->range(pool_base_));  // each member may have sent from them, or received into them
  Status given_back = give_back(*live);
  GRAPNEL_TRY(exchange::meet(exchange_, group));
  return given_back;
}

Result<SegmentTable::LiveKey> SegmentTable::agree_on_victim(const launch::Group& group, void* address) {
  Wish mine{address == nullptr ? Meant::empty_part : Meant::nothing, 0, reinterpret_cast<std::uintptr_t>(address)};
  if (const auto known = by_my_address_.find(address);
      known != by_my_address_.end() && known->second.first == group.key) {
    mine.meant = Meant::number;
    mine.number = known->second.second;
  }
  base::Encoder out;
  out.put(mine.meant).put(mine.number).put(mine.address);
  GRAPNEL_ASSIGN_OR_RETURN(const auto wishes, exchange_answers<Wish>(exchange_, group, out.view(), read_wish));
  GRAPNEL_ASSIGN_OR_RETURN(const auto number, number_meant(group, wishes));

  const auto has_memory = [](const Part& part) { return part.address != nullptr; };
  if (!number.has_value()) {
    for (auto each = live_.lower_bound({group.key, 0}); each != live_.end() && each->first.first == group.key; ++each) {
      if (std::none_of(each->second->parts.begin(), each->second->parts.end(), has_memory)) return each->first;
    }
    return Status(Code::invalid_argument, "free of null by all ranks of a group that has no allocation without memory");
  }
  const LiveKey key{group.key, *number};
  const auto live = live_.find(key);
  GRAPNEL_CHECK(live != live_.end(), "the members know different allocations of the group {:#x}", group.key);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (wishes[i].meant == Meant::empty_part && has_memory(live->second->parts[i])) {
      return mistake(group, i, "free of null: it has memory in the allocation that the others free");
    }
  }
  return key;
}

}  // namespace grapnel::segment
