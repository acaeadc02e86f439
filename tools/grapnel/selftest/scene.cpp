// SPDX-License-Identifier: Apache-2.0
#include "selftest/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace grapnel::tool::selftest {
namespace {

std::vector<std::vector<Rank>> ranks_by_node(const Runtime& runtime) {
  std::vector<std::vector<Rank>> ranks(static_cast<std::size_t>(runtime.node_count()));
  for (int rank = 0; rank < runtime.size(); ++rank) ranks[index(runtime.node_of(Rank{rank}))].push_back(Rank{rank});
  return ranks;
}

}  // namespace

const char* to_string(Between between) { return between == Between::nodes ? "between nodes" : "inside a node"; }

std::byte ground(Rank owner, std::size_t place) {
  return static_cast<std::byte>(0x80 | ((index(owner) * 29 + place * 3 + place / 241) & 0x7f));
}

std::byte ink(Rank origin, std::size_t place) {
  return static_cast<std::byte>((index(origin) * 31 + place * 5 + place / 113 + 1) & 0x7f);
}

Scene::Scene(Runtime& runtime, const Memory& memory, LockSet locks, Between between)
    : runtime_(runtime),
      memory_(memory),
      locks_(std::move(locks)),
      between_(between),
      source_(kSlotBytes),
      room_(kSlotBytes) {
  const auto nodes = ranks_by_node(runtime);
  const std::size_t node = index(runtime.node());
  const auto& mine = nodes[node];
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), runtime.rank()) - mine.begin());
  if (between == Between::ranks_of_a_node && mine.size() > 1) {
    target_ = mine[(place + 1) % mine.size()];
    origin_ = mine[(place + mine.size() - 1) % mine.size()];
  }
  if (between == Between::nodes && nodes.size() > 1) {
    const auto& next = nodes[(node + 1) % nodes.size()];
    const auto& previous = nodes[(node + nodes.size() - 1) % nodes.size()];
    if (place < next.size()) target_ = next[place];
    if (place < previous.size()) origin_ = previous[place];
  }
  for (std::size_t i = 0; i < kSlotBytes; ++i) source_[i] = ink(runtime.rank(), i);
}

std::byte* Scene::slot_of(Rank rank) const {
  return static_cast<std::byte*>(memory_.on(rank)) + static_cast<std::size_t>(between_) * kSlotBytes;
}

void Scene::lay_ground() {
  std::byte* const slot = own_slot();
  for (std::size_t i = 0; i < kSlotBytes; ++i) slot[i] = ground(runtime_.rank(), i);
}

Status Scene::compare(const std::byte* found, const std::byte* expected, std::size_t bytes, const char* what) const {
  const auto [one, other] = std::mismatch(found, found + bytes, expected);
  if (one == found + bytes) return {};
  return {Code::system, fmt::format("{}: byte {} of {} is {:#04x}, and should be {:#04x}", what, one - found, bytes,
                                    static_cast<unsigned>(*one), static_cast<unsigned>(*other))};
}

}  // namespace grapnel::tool::selftest
