// Lent memory: every operation against a model; atomic for each element; while its owner computes or is stopped; when
// it is taken back, or gone.
// SPDX-License-Identifier: Apache-2.0
#include "harness/computing.hpp"
#include "rma/lent_programs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

namespace grapnel::test {
namespace {

using rma::OperationKind;
using Copy = rma::ContiguousTransfer;

Rank next_of(const Runtime& g) { return Rank{(static_cast<int>(index(g.rank())) + 1) % g.size()}; }

Status put(Runtime& g, const void* source, void* there, std::size_t bytes, Rank target) {
  return rma_of(g).transfer(Copy{OperationKind::put, {}, const_cast<void*>(source), there, bytes, target, true});
}
Status get(Runtime& g, void* there, void* destination, std::size_t bytes, Rank target) {
  return rma_of(g).transfer(Copy{OperationKind::get, {}, destination, there, bytes, target, true});
}
Status fetch(Runtime& g, Operation operation, NumberType number, const void* source, void* old, void* there,
             Rank target) {
  auto what = rma::Rma::update_transfer(operation, number, source, old, there, 1, target);
  if (!what) return what.status();
  what->lent = true;
  return rma_of(g).transfer(*what);
}

// What a refused access answers: at once on the own node; of a write to another node the fence.
Code outcome_of_put(Runtime& g, void* there, Rank target) {
  const std::uint64_t value = 7;
  const Status put_there = put(g, &value, there, sizeof value, target);
  const Status fenced = g.fence(target);
  return put_there.ok() ? fenced.code() : put_there.code();
}

}  // namespace

WORLD_TEST(Lent, RandomOperationsDoAsTheirModel) {
  Bytes memory(RandomSlice::kBytes * static_cast<std::size_t>(g.size()) + 3);
  ASSERT_OK(lent_of(g).lend(memory.data() + 3, memory.size() - 3));
  play_random_slices(g, memory.data() + 3, true, 60);
  EXPECT_OK(lent_of(g).take_back(memory.data() + 3, memory.size() - 3));
}

WORLD_TEST(Lent, CopiesWorkAndEveryRankLearnsIt) {
  for (int rank = 0; rank < g.size(); ++rank) {
    EXPECT_OK(rma_of(g).copies_work(g.implementation().launch->nodes().node_of[static_cast<std::size_t>(rank)]));
  }
  EXPECT_CODE(Code::invalid_argument, rma_of(g).copies_work(NodeId{g.size()}));
}

WORLD_TEST(Lent, TakesTheMessagesOfAVector) {
  constexpr std::size_t kLong = 200'000;
  Bytes memory(kLong), data(kLong, std::byte{1});
  ASSERT_OK(lent_of(g).lend(memory.data(), kLong));
  const auto there = addresses_of_all(g, memory.data())[index(next_of(g))];
  const auto messages = [&](const char* operation, auto call) {
    const std::uint64_t before = wire_messages(g, operation);
    call();
    return wire_messages(g, operation) - before;
  };
  const bool away = !g.same_node(next_of(g));
  const Strided packed = shape_of(8, 16384, 8), spread = shape_of(8, 16384, 12);  // two chunks
  EXPECT_EQ(messages("put", [&] { EXPECT_OK(put(g, data.data(), there, 8, next_of(g))); }), away ? 1U : 0U);
  EXPECT_EQ(messages("put", [&] { EXPECT_OK(put(g, data.data(), there, kLong, next_of(g))); }), away ? 4U : 0U);
  EXPECT_EQ(messages("get", [&] { EXPECT_OK(get(g, there, data.data(), 8, next_of(g))); }), away ? 1U : 0U);
  EXPECT_EQ(messages("put",
                     [&] {
                       EXPECT_OK(rma_of(g).transfer(rma::StridedTransfer{
                           OperationKind::put, {}, data.data(), &packed, there, &spread, next_of(g), true}));
                     }),
            away ? 2U : 0U);
  std::int64_t one = 1, old = 0;
  EXPECT_EQ(messages("update",
                     [&] { EXPECT_OK(fetch(g, Operation::sum, NumberType::int64, &one, &old, there, next_of(g))); }),
            away ? 1U : 0U);
  EXPECT_OK(g.barrier());
  EXPECT_OK(lent_of(g).take_back(memory.data(), kLong));
}

// Fetched sums give each ticket once, beside the owner's own, sums of parts and compares.
WORLD_TEST(Lent, UpdatesOfOneWordExcludeEachOther) {
  constexpr int kEach = 15;
  std::int64_t word = 0;
  ASSERT_OK(lent_of(g).lend(&word, sizeof word));
  const auto there = addresses_of_all(g, &word).front();
  const std::int64_t one = 1, many = std::int64_t{1} << 32;
  std::set<std::int64_t> tickets;
  for (int i = 0; i < kEach; ++i) {
    std::int64_t ticket = -1;
    ASSERT_OK(fetch(g, Operation::sum, NumberType::int64, &one, &ticket, there, Rank{0}));
    EXPECT_TRUE(tickets.insert(ticket % many).second) << ticket;
    const rma::Part part{&many, nullptr, there, sizeof many};
    ASSERT_OK(
        rma_of(g).transfer(rma::VectorUpdate{Operation::sum, NumberType::uint64, false, {&part, 1}, Rank{0}, true}));
    for (std::uint64_t seen = 0;;) {
      const auto found =
          rma_of(g).compare(there, seen, seen + static_cast<std::uint64_t>(many), sizeof word, Rank{0}, true);
      ASSERT_OK(found.status());
      if (*found == seen) break;
      seen = *found;
    }
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    EXPECT_EQ(word, kEach * g.size() * (2 * many + 1));
  }
  EXPECT_OK(lent_of(g).take_back(&word, sizeof word));
}

// A complex number that lies in two stripes is read and replaced whole.
WORLD_TEST(Lent, NoElementIsTorn) {
  Bytes memory(3 * 4096);
  ASSERT_OK(lent_of(g).lend(memory.data(), memory.size()));
  const Rank target{g.size() - 1};
  const auto base = reinterpret_cast<std::uintptr_t>(addresses_of_all(g, memory.data())[index(target)]);
  auto* const place = reinterpret_cast<std::byte*>((base + 8191) / 4096 * 4096 - 8);
  for (int i = 0; i < 25; ++i) {
    const double part = static_cast<int>(g.rank()) + 100.0 * i, number[2] = {part, part};
    double seen[2] = {-1, -2};
    ASSERT_OK(fetch(g, Operation::replace, NumberType::complex128, number, seen, place, target));
    EXPECT_EQ(seen[0], seen[1]);
    ASSERT_OK(fetch(g, Operation::replace, NumberType::complex128, number, nullptr, place, target));
    ASSERT_OK(fetch(g, Operation::none, NumberType::complex128, nullptr, seen, place, target));
    EXPECT_EQ(seen[0], seen[1]);
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(lent_of(g).take_back(memory.data(), memory.size()));
}

// A word that is lent and lies in a segment: updates by both ways exclude each other.
WORLD_TEST(Lent, MemoryOfASegmentHasTheSegmentsStripes) {
  const auto memory = g.allocate(8);
  ASSERT_OK(memory.status());
  ASSERT_OK(lent_of(g).lend(memory->local(), 8));
  EXPECT_OK(g.barrier());
  const std::int64_t one = 1;
  for (int i = 0; i < 40; ++i) {
    if ((i + static_cast<int>(index(g.rank()))) % 2 == 0) {
      EXPECT_OK(g.update(Operation::sum, NumberType::int64, &one, memory->on(Rank{0}), 1, Rank{0}));
    } else {
      EXPECT_OK(fetch(g, Operation::sum, NumberType::int64, &one, nullptr, memory->on(Rank{0}), Rank{0}));
    }
  }
  EXPECT_OK(g.barrier());
  if (index(g.rank()) == 0) {
    EXPECT_EQ(*static_cast<std::int64_t*>(memory->local()), 40 * g.size());
  }
  EXPECT_OK(lent_of(g).take_back(memory->local(), 8));
  EXPECT_OK(g.free(*memory));
}

WORLD_TEST(Lent, WhatIsNotLentIsRefused) {
  std::uint64_t words[64] = {};
  segment::Lent& lent = lent_of(g);
  ASSERT_OK(lent.lend(&words[8], 80));
  ASSERT_OK(lent.lend(&words[16], 64));  // words 8 to 23 in two ranges that overlap
  ASSERT_OK(lent.lend(&words[8], 80));   // a second time
  const auto there = addresses_of_all(g, words)[index(next_of(g))];
  const Code refused = g.same_node(next_of(g)) ? Code::invalid_argument : Code::refused;
  std::uint64_t found[3] = {};
  for (const std::ptrdiff_t outside : {0, 7, 24, 63}) {
    EXPECT_EQ(outcome_of_put(g, there + 8 * outside, next_of(g)), refused) << outside;
    EXPECT_CODE(refused, get(g, there + 8 * outside, found, 8, next_of(g)));
    EXPECT_CODE(refused, fetch(g, Operation::sum, NumberType::int64, found, found, there + 8 * outside, next_of(g)));
    EXPECT_CODE(refused, rma_of(g).compare(there + 8 * outside, 0, 1, 8, next_of(g), true).status());
  }
  EXPECT_CODE(refused, get(g, there + 8 * 22, found, 24, next_of(g))) << "one word too many";
  EXPECT_OK(g.barrier());
  EXPECT_OK(get(g, there + 8 * 17, found, 24, next_of(g)));  // from one range to the other
  EXPECT_OK(g.barrier());
  ASSERT_OK(lent.take_back(&words[8], 80));
  EXPECT_OK(g.barrier());
  EXPECT_EQ(outcome_of_put(g, there + 8 * 8, next_of(g)), Code::ok) << "lent twice, taken back once";
  EXPECT_OK(g.barrier());
  ASSERT_OK(lent.take_back(&words[8], 80));
  EXPECT_CODE(Code::invalid_argument, lent.take_back(&words[8], 80));
  EXPECT_OK(g.barrier());
  EXPECT_EQ(outcome_of_put(g, there + 8 * 8, next_of(g)), refused);
  EXPECT_EQ(outcome_of_put(g, there + 8 * 16, next_of(g)), Code::ok);
  EXPECT_OK(g.barrier());
  ASSERT_OK(lent.take_back(&words[16], 64));
  const double number = 1;
  EXPECT_CODE(Code::invalid_argument, put(g, &number, there, 8, Rank{g.size()}));
  EXPECT_CODE(Code::invalid_argument,
              rma_of(g).transfer(Copy{OperationKind::accumulate, {}, found, there, 8, next_of(g), true}));
  EXPECT_OK(g.barrier());
}

// Others go on while it is taken back and lent: each access is made, or refused. Each origin has a part of its own: two
// puts to the same bytes would be a race of the program.
WORLD_TEST_ON(Lent, IsTakenBackWhileOthersAccessIt, shapes_from(2)) {
  constexpr std::size_t kPartBytes = 13'000;
  Bytes memory(kPartBytes * static_cast<std::size_t>(g.size() - 1));
  segment::Lent& lent = lent_of(g);
  ASSERT_OK(lent.lend(memory.data(), memory.size()));
  const auto first_part = addresses_of_all(g, memory.data()).front();
  if (index(g.rank()) == 0) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_OK(lent.take_back(memory.data(), memory.size()));
      std::byte* const part = &memory[static_cast<std::size_t>(i % (g.size() - 1)) * kPartBytes];
      ASSERT_OK(lent.lend(part, i % 2 == 0 ? 100 : 50));
      g.implementation().host->relax();
      ASSERT_OK(lent.take_back(part, i % 2 == 0 ? 100 : 50));
      ASSERT_OK(lent.lend(memory.data(), memory.size()));
      g.implementation().host->yield();
    }
  } else {
    const auto there = first_part + (static_cast<std::size_t>(index(g.rank())) - 1) * kPartBytes;
    Bytes data(9000);
    for (int i = 0; i < 60; ++i) {
      const auto is_answer = [](const Status& status) {
        return status.ok() || status.code() == Code::refused || status.code() == Code::invalid_argument;
      };
      EXPECT_TRUE(is_answer(put(g, data.data(), there, data.size(), Rank{0})));
      EXPECT_TRUE(is_answer(get(g, there + 4000, data.data(), data.size(), Rank{0})));
      std::int64_t old = 0;
      EXPECT_TRUE(is_answer(fetch(g, Operation::sum, NumberType::int64, &old, &old, there, Rank{0})));
      EXPECT_TRUE(is_answer(g.fence(Rank{0})));
    }
  }
  const Status over = g.barrier();
  EXPECT_TRUE(over.ok() || over.code() == Code::refused) << over.to_string();
  EXPECT_OK(g.barrier());
  EXPECT_OK(lent.take_back(memory.data(), memory.size()));
}

// The owner unmaps what it has lent. Its server, which may be its own process, refuses, and goes on.
WORLD_TEST(Lent, MemoryThatIsGoneIsRefused) {
  if (!world_has_page_tables()) return;  // ranks that are threads would fault
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // Far from where the kernel maps by itself, so that nothing else is mapped into the hole.
  auto* const mine =
      static_cast<std::byte*>(::mmap(reinterpret_cast<void*>(0x100000000000), 3 * page, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
  ASSERT_NE(mine, MAP_FAILED);
  ASSERT_OK(lent_of(g).lend(mine, 3 * page));
  ASSERT_EQ(::munmap(mine + page, page), 0);
  const auto addresses = addresses_of_all(g, mine);
  for (int rank = 0; rank < g.size(); ++rank) {
    const Rank target{rank};
    if (target == g.rank()) continue;  // its own mistake is its own fault
    std::byte* const hole = addresses[static_cast<std::size_t>(rank)] + page;
    std::uint64_t found = 0;
    EXPECT_EQ(outcome_of_put(g, hole, target), Code::refused);
    EXPECT_CODE(Code::refused, get(g, hole + 100, &found, 8, target));
    EXPECT_CODE(Code::refused, get(g, hole - 4, &found, 8, target)) << "half of it is there";
    EXPECT_CODE(Code::refused, fetch(g, Operation::sum, NumberType::int64, &found, &found, hole, target));
    EXPECT_CODE(Code::refused, rma_of(g).compare(hole, 0, 1, 8, target, true).status());
    EXPECT_OK(get(g, hole - 8, &found, 8, target));
    EXPECT_OK(get(g, hole + page, &found, 8, target));
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(lent_of(g).take_back(mine, 3 * page));
  ::munmap(mine, page);
  ::munmap(mine + 2 * page, page);
}

WORLD_TEST_ON(Lent, OperationsEndWhileTheOwnerComputes, shapes_from(2)) {
  std::int64_t words[16] = {};
  ASSERT_OK(lent_of(g).lend(words, sizeof words));
  const auto through = g.allocate(sizeof(std::int64_t));  // counts in the owner's part
  ASSERT_OK(through.status());
  const Rank owner{g.size() - 1};
  auto* const there = addresses_of_all(g, words)[index(owner)];
  EXPECT_OK(g.barrier());
  if (g.rank() == owner) {
    EXPECT_TRUE(compute_until(g, through->local(), static_cast<std::uint64_t>(g.size() - 1))) << "they wait for it";
  } else {
    const std::int64_t one = 1;
    std::int64_t found = 0;
    auto* const mine = there + 8 * index(g.rank());
    EXPECT_OK(put(g, &one, mine, 8, owner));
    EXPECT_OK(fetch(g, Operation::sum, NumberType::int64, &one, &found, mine, owner));
    EXPECT_EQ(found, 1);
    EXPECT_OK(get(g, mine, &found, 8, owner));
    EXPECT_EQ(found, 2);
    EXPECT_OK(g.fetch_and_add(through->on(owner), 1, Width::bits64, owner).status());
  }
  EXPECT_OK(g.barrier());
  EXPECT_OK(g.free(*through));
  EXPECT_OK(lent_of(g).take_back(words, sizeof words));
}

namespace {

bool is_stopped(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto behind = text.rfind(')');
  return behind != std::string::npos && text.size() > behind + 2 && text[behind + 2] == 'T';
}

}  // namespace

// The last rank of a node stops (SIGSTOP), and rank 0 lets it go on when all others are through.
WORLD_TEST_ON(Lent, OperationsEndWhileTheOwnerIsStopped, (std::vector<Shape>{{2, 1}, {5, 1}, {5, 2}, {8, 3}})) {
  if (!world_has_page_tables()) return;  // ranks that are threads would all stop
  std::int64_t words[16] = {};
  ASSERT_OK(lent_of(g).lend(words, sizeof words));
  const Rank owner{g.size() - 1};  // leads no node
  auto* const there = addresses_of_all(g, words)[index(owner)];
  const auto pid = reinterpret_cast<std::uintptr_t>(
      addresses_of_all(g, reinterpret_cast<void*>(static_cast<std::uintptr_t>(::getpid())))[index(owner)]);
  const auto others = g.make_group([&] {
    std::vector<Rank> members;
    for (int rank = 0; rank + 1 < g.size(); ++rank) members.push_back(Rank{rank});
    if (g.rank() == owner) members = {owner};
    return members;
  }());
  ASSERT_OK(others.status());
  EXPECT_OK(g.barrier());
  if (g.rank() == owner) {
    ::raise(SIGSTOP);
  } else {
    while (!is_stopped(static_cast<int>(pid))) ::usleep(1000);
    const std::int64_t one = 1;
    std::int64_t found = 0;
    auto* const mine = there + 8 * index(g.rank());
    EXPECT_OK(put(g, &one, mine, 8, owner));
    EXPECT_OK(fetch(g, Operation::sum, NumberType::int64, &one, &found, mine, owner));
    EXPECT_EQ(found, 1);
    EXPECT_OK(get(g, mine, &found, 8, owner));
    EXPECT_EQ(found, 2);
    EXPECT_TRUE(g.allgather(*others, {}).ok());
    if (index(g.rank()) == 0) ::kill(static_cast<pid_t>(pid), SIGCONT);
  }
  EXPECT_OK(g.barrier());
  if (g.rank() == owner) {
    for (int rank = 0; rank + 1 < g.size(); ++rank) EXPECT_EQ(words[rank], 2);
  }
  EXPECT_OK(lent_of(g).take_back(words, sizeof words));
}

}  // namespace grapnel::test
