// Schedules as data: those of all members of a group, carried out side by side without any rank, give what they should.
// SPDX-License-Identifier: Apache-2.0
#include "collective/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "grapnel/types.hpp"

namespace grapnel::collective {
namespace {

using Element = std::uint64_t;

/// Neither associative nor commutative: the order and the grouping show.
Element joined(Element a, Element b) { return 31 * a + 7 * b + 1; }

/// Places by node, as a member of `node` sees them.
GroupNodes nodes_of(const std::vector<std::size_t>& node_of_places, std::size_t me) {
  GroupNodes nodes;
  std::map<std::size_t, std::size_t> known;
  for (std::size_t place = 0; place < node_of_places.size(); ++place) {
    const auto [found, is_new] = known.emplace(node_of_places[place], nodes.members_of.size());
    if (is_new) nodes.members_of.emplace_back();
    nodes.members_of[found->second].push_back(place);
    nodes.node_of.push_back(found->second);
  }
  nodes.my_node = nodes.node_of[me];
  for (const auto& members : nodes.members_of)
    nodes.by_node.insert(nodes.by_node.end(), members.begin(), members.end());
  return nodes;
}

/// A member as the test carries it out.
struct Member {
  Schedule schedule;
  Bytes memory;
  std::size_t next = 0;
  Bytes result;
};

class Group {
 public:
  void add(Schedule schedule, const Bytes& source, std::size_t result_bytes) {
    Member member{std::move(schedule), {}, 0, Bytes(result_bytes, std::byte{0xee})};
    member.memory.resize(member.schedule.memory_bytes);
    ASSERT_LE(member.schedule.source_at + member.schedule.source_bytes, member.memory.size());
    ASSERT_LE(member.schedule.source_bytes, source.size());
    std::copy_n(source.begin(), member.schedule.source_bytes,
                member.memory.begin() + static_cast<std::ptrdiff_t>(member.schedule.source_at));
    members_.push_back(std::move(member));
  }

  /// All members but one, by turns, as far as they get.
  void advance_without(std::size_t late) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t me = 0; me < members_.size(); ++me) {
        while (me != late && !is_over(me) && step(me)) moved = true;
      }
    }
  }
  bool is_over(std::size_t me) const { return members_[me].next == members_[me].schedule.steps.size(); }

  /// All members, until none has a step left.
  void run() {
    advance_without(members_.size());
    for (std::size_t me = 0; me < members_.size(); ++me) {
      ASSERT_TRUE(is_over(me)) << "member " << me << " waits";
      for (const ResultPart& part : members_[me].schedule.results) {
        ASSERT_LE(part.to + part.bytes, members_[me].result.size());
        std::copy_n(members_[me].memory.data() + part.at, part.bytes, members_[me].result.data() + part.to);
      }
    }
    EXPECT_TRUE(messages_.empty()) << messages_.size() << " messages have no receiver";
  }
  const Bytes& result(std::size_t member) const { return members_[member].result; }
  /// Sent from one node to another.
  std::size_t messages_between_nodes(const std::vector<std::size_t>& node_of_places) const {
    return static_cast<std::size_t>(std::count_if(sent_.begin(), sent_.end(), [&](const auto& ends) {
      return node_of_places[ends.first] != node_of_places[ends.second];
    }));
  }

 private:
  bool step(std::size_t me) {
    Member& member = members_[me];
    const Step& step = member.schedule.steps[member.next];
    std::byte* const at = member.memory.data() + step.at;
    EXPECT_LE(step.at + step.bytes, member.memory.size());
    EXPECT_LE(step.from + step.bytes, member.memory.size());
    if (step.kind == Step::Kind::send) {
      const bool is_new = messages_.emplace(std::tuple(me, step.peer, step.name), Bytes(at, at + step.bytes)).second;
      EXPECT_TRUE(is_new) << me << " sends " << step.peer << " two messages of one name";
      sent_.emplace_back(me, step.peer);
    } else if (step.kind == Step::Kind::receive) {
      const auto found = messages_.find({step.peer, me, step.name});
      if (found == messages_.end()) return false;
      EXPECT_EQ(found->second.size(), step.bytes);
      std::copy(found->second.begin(), found->second.end(), at);
      messages_.erase(found);
    } else if (step.kind == Step::Kind::join) {
      for (std::size_t i = 0; i < step.bytes; i += sizeof(Element)) {
        Element into, from;
        std::memcpy(&into, at + i, sizeof into);
        std::memcpy(&from, member.memory.data() + step.from + i, sizeof from);
        into = joined(into, from);
        std::memcpy(at + i, &into, sizeof into);
      }
    } else {
      std::memmove(at, member.memory.data() + step.from, step.bytes);
    }
    ++member.next;
    return true;
  }

  std::vector<Member> members_;
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, Bytes> messages_;
  std::vector<std::pair<std::size_t, std::size_t>> sent_;
};

Element element_of(std::size_t member, std::size_t i) { return 1000 * (member + 1) + i; }

Bytes elements_of(std::size_t member, std::size_t count) {
  Bytes bytes(count * sizeof(Element));
  for (std::size_t i = 0; i < count; ++i) {
    const Element element = element_of(member, i);
    std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
  }
  return bytes;
}

Bytes joined_in_order(const GroupNodes& nodes, std::size_t count) {
  Bytes bytes(count * sizeof(Element));
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Element> of_nodes;
    for (const auto& members : nodes.members_of) {
      Element sum = element_of(members.front(), i);
      for (std::size_t m = 1; m < members.size(); ++m) sum = joined(sum, element_of(members[m], i));
      of_nodes.push_back(sum);
    }
    Element all = of_nodes.front();
    for (std::size_t node = 1; node < of_nodes.size(); ++node) all = joined(all, of_nodes[node]);
    std::memcpy(bytes.data() + i * sizeof all, &all, sizeof all);
  }
  return bytes;
}

/// One to eight members on one to seven nodes, even and uneven, also where a node's members do not follow each other.
const std::vector<std::vector<std::size_t>> kShapes = {{0},
                                                       {0, 0},
                                                       {0, 1},
                                                       {0, 0, 0},
                                                       {0, 1, 0},
                                                       {0, 1, 2},
                                                       {0, 0, 0, 1},
                                                       {2, 1, 0, 1, 2},
                                                       {0, 1, 2, 3, 4},
                                                       {0, 0, 1, 1, 1, 2},
                                                       {0, 1, 2, 3, 4, 5, 6},
                                                       {0, 0, 0, 1, 2, 2, 3, 3},
                                                       {3, 0, 3, 1, 2, 2, 1, 0}};
// Less than nodes; little; more, which does not divide; pieces.
const std::vector<std::size_t> kCounts = {0, 1, 5, 3001, 20'011};
constexpr std::uint64_t kGatherBytes = 16 * 1024;

TEST(Schedules, OfReductionsJoinInTheOrderOfBlockingCalls) {
  for (const auto& shape : kShapes) {
    for (const std::size_t count : kCounts) {
      const Bytes wanted = joined_in_order(nodes_of(shape, 0), count);
      for (std::size_t root = 0; root <= shape.size(); ++root) {  // the last one: all
        Group group;
        const std::optional<std::size_t> to = root < shape.size() ? std::optional(root) : std::nullopt;
        for (std::size_t me = 0; me < shape.size(); ++me) {
          group.add(reduce_schedule(nodes_of(shape, me), me, to, {count, sizeof(Element), kGatherBytes}),
                    elements_of(me, count), wanted.size());
        }
        ASSERT_NO_FATAL_FAILURE(group.run());
        for (std::size_t me = 0; me < shape.size(); ++me) {
          const bool gets_it = to.value_or(me) == me;
          ASSERT_EQ(group.result(me), gets_it ? wanted : Bytes(wanted.size(), std::byte{0xee}));
        }
      }
    }
  }
}

TEST(Schedules, OfBroadcastsReachAll) {
  for (const auto& shape : kShapes) {
    for (const std::size_t count : kCounts) {
      for (std::size_t root = 0; root < shape.size(); ++root) {
        const Bytes wanted = elements_of(root, count);
        Group group;
        for (std::size_t me = 0; me < shape.size(); ++me) {
          group.add(broadcast_schedule(nodes_of(shape, me), me, root, wanted.size()), elements_of(me, count),
                    wanted.size());
        }
        ASSERT_NO_FATAL_FAILURE(group.run());
        for (std::size_t me = 0; me < shape.size(); ++me) {
          ASSERT_EQ(group.result(me), me == root ? Bytes(wanted.size(), std::byte{0xee}) : wanted)
              << me << ", " << root;
        }
        const auto nodes = nodes_of(shape, 0).members_of.size();
        if (count == 1) {
          EXPECT_EQ(group.messages_between_nodes(shape), nodes - 1);
        }
      }
    }
  }
}

TEST(Schedules, OfAllgathersPutEachInItsPlace) {
  for (const auto& shape : kShapes) {
    for (const std::size_t count : kCounts) {
      Bytes wanted;
      Group group;
      for (std::size_t me = 0; me < shape.size(); ++me) {
        const Bytes mine = elements_of(me, count);
        wanted.insert(wanted.end(), mine.begin(), mine.end());
        group.add(allgather_schedule(nodes_of(shape, me), me, mine.size()), mine, shape.size() * mine.size());
      }
      ASSERT_NO_FATAL_FAILURE(group.run());
      for (std::size_t me = 0; me < shape.size(); ++me) ASSERT_EQ(group.result(me), wanted);
    }
  }
}

TEST(Schedules, OfAlltoallsWithLengthsOfTheirOwn) {
  constexpr std::size_t kMembers = 5;
  const auto bytes_from = [](std::size_t from, std::size_t to) { return 70'000 * from * to + 8 * to; };
  Group group;
  std::vector<Bytes> wanted(kMembers);
  for (std::size_t me = 0; me < kMembers; ++me) {
    std::vector<std::size_t> to(kMembers), from(kMembers);
    Bytes out;
    std::size_t in = 0;
    for (std::size_t other = 0; other < kMembers; ++other) {
      to[other] = bytes_from(me, other);
      from[other] = bytes_from(other, me);
      out.insert(out.end(), to[other], static_cast<std::byte>(10 * me + other));
      wanted[me].insert(wanted[me].end(), from[other], static_cast<std::byte>(10 * other + me));
      in += from[other];
    }
    group.add(alltoall_schedule(me, to, from), out, in);
  }
  ASSERT_NO_FATAL_FAILURE(group.run());
  for (std::size_t me = 0; me < kMembers; ++me) EXPECT_EQ(group.result(me), wanted[me]);
}

// As many messages as a barrier without writes; two members that have met have all come.
TEST(Schedules, SendNoMoreThanADissemination) {
  for (const auto& shape : kShapes) {
    Group group;
    std::size_t nodes = 0;
    for (std::size_t me = 0; me < shape.size(); ++me) {
      nodes = nodes_of(shape, me).members_of.size();
      Schedule schedule = reduce_schedule(nodes_of(shape, me), me, {}, {1, sizeof(Element), kGatherBytes});
      group.add(std::move(schedule), elements_of(me, 1), sizeof(Element));
    }
    ASSERT_NO_FATAL_FAILURE(group.run());
    std::size_t rounds = 0;
    while (std::size_t{1} << rounds < nodes) ++rounds;
    EXPECT_EQ(group.messages_between_nodes(shape), nodes * rounds);
  }
}

TEST(Schedules, OfAMeetingHoldAllUntilTheLastHasCome) {
  for (std::size_t members = 2; members <= 9; ++members) {
    Group group;
    for (std::size_t me = 0; me < members; ++me) {
      Schedule schedule;
      add_meeting(schedule, me, members);
      group.add(std::move(schedule), {}, 0);
    }
    const std::size_t late = members / 2;
    group.advance_without(late);
    for (std::size_t me = 0; me < members; ++me) EXPECT_FALSE(group.is_over(me)) << me << " of " << members;
    ASSERT_NO_FATAL_FAILURE(group.run());
  }
}

}  // namespace
}  // namespace grapnel::collective
