// SPDX-License-Identifier: Apache-2.0
#include "scenarios/dse_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <vector>

#include "pairs.hpp"
#include "scenarios/plain_node.hpp"
#include "scenarios/sync_work.hpp"

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kMoment_ns = 200'000;  // for all ranks to be asleep before they begin
constexpr std::uint64_t kWarm = 3;

/// One rank's part of a test.
class Part {
 public:
  Part(Session& s, const DseWork& work)
      : s_(s), work_(work), me_(index(s.g.rank())), ranks_(static_cast<std::size_t>(s.g.size())) {
    received_.resize(ranks_ * work.bytes);
    own_.assign(work.bytes, shared_byte(me_));
  }

  bool takes_part() const {
    if (work_.test == DseTest::access) return me_ == ranks_ - 1;
    const bool is_source = work_.test == DseTest::broadcast && me_ == 0;
    return !is_source || work_.way == DseWay::collective;
  }

  void run(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) {
      switch (work_.way) {
        case DseWay::plain: run_plain(); break;
        case DseWay::get: run_get(); break;
        case DseWay::collective: run_collective(); break;
        case DseWay::round_trip: break;  // none of this class's
      }
    }
  }

  void check() const {
    for (std::size_t from = 0; from < ranks_; ++from) {
      if (!receives_from(from)) continue;
      const std::span<const std::byte> part(received_.data() + from * work_.bytes, work_.bytes);
      if (std::all_of(part.begin(), part.end(), [&](std::byte b) { return b == shared_byte(from); })) continue;
      fail(Status(Code::system, fmt::format("rank {} received something else than what rank {} shares", me_, from)));
    }
  }

  std::uint64_t messages() const {
    if (work_.way == DseWay::plain) return s_.plain->messages();
    std::uint64_t sum = 0;
    for (const OperationCount& row : s_.g.operation_counts()) {
      if (row.operation == "get") sum += 2 * row.wire_messages;  // each has an answer
      for (const char* name : {"broadcast", "allgather", "barrier"}) {
        if (row.operation == name) sum += row.wire_messages;
      }
    }
    return sum;
  }

 private:
  bool receives_from(std::size_t from) const {
    if (!takes_part() || work_.test == DseTest::barrier || from == me_) return false;
    return work_.test == DseTest::all_to_all || from == 0;
  }

  std::byte* place_of(std::size_t rank) { return received_.data() + rank * work_.bytes; }

  void run_plain() {
    PlainNode& node = *s_.plain;
    switch (work_.test) {
      case DseTest::access:
      case DseTest::broadcast: node.read(0, place_of(0), work_.bytes); break;
      case DseTest::all_to_all: node.read_all(received_.data(), work_.bytes); break;
      case DseTest::barrier: node.barrier(); break;
    }
  }

  void run_get() {
    if (work_.test != DseTest::all_to_all) {
      must(s_.g.get(s_.memory.on(Rank{0}), place_of(0), work_.bytes, Rank{0}));
      return;
    }
    for (std::size_t step = 1; step < ranks_; ++step) {
      const std::size_t from = (me_ + step) % ranks_;
      const Rank rank{static_cast<int>(from)};
      must(s_.g.start_get(s_.memory.on(rank), place_of(from), work_.bytes, rank));
    }
    must(s_.g.wait_implicit());
  }

  void run_collective() {
    switch (work_.test) {
      case DseTest::broadcast: must(s_.g.broadcast(me_ == 0 ? own_.data() : place_of(0), work_.bytes, Rank{0})); break;
      case DseTest::all_to_all: must(s_.g.allgather(own_.data(), received_.data(), work_.bytes)); break;
      case DseTest::barrier: must(s_.g.barrier()); break;
      case DseTest::access: fail(Status(Code::invalid_argument, "an access is no collective"));
    }
  }

  Session& s_;
  const DseWork work_;
  const std::size_t me_, ranks_;
  std::vector<std::byte> received_, own_;
};

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  std::uint64_t seen = most.load(std::memory_order_relaxed);
  while (seen < value && !most.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

std::uint64_t measure(Session& s, const DseWork& work) {
  Part part(s, work);
  const auto ranks = static_cast<std::uint32_t>(s.g.size());
  BoardPage& page = s.board.page();
  if (part.takes_part()) part.run(kWarm);
  page.last_ns.store(0, std::memory_order_relaxed);  // the same by all; ordered by the gathering
  s.board.gather(ranks, kMoment_ns);
  const std::uint64_t begin_ns = page.start_ns.load(std::memory_order_relaxed);
  const std::uint64_t messages_before = part.messages();
  if (part.takes_part()) {
    part.run(work.operations);
    raise_to(page.last_ns, now_ns());
  }
  s.board.gather(ranks, 0);
  part.check();
  const double messages = sum_of_all(s, part.messages() - messages_before);
  if (index(s.g.rank()) == 0) page.number[kDseMessages] = messages / static_cast<double>(work.operations);
  return (page.last_ns.load(std::memory_order_relaxed) - begin_ns) / work.operations;
}

std::uint64_t round_trip_ns(Session& s, const DseWork& work) {
  SyncWork ping;
  ping.operations = work.operations;
  return ping_pong(s, ping);
}

}  // namespace

void DseWork::store(SharedPage& board) const {
  std::uint64_t* const argument = board.page().argument;
  argument[0] = static_cast<std::uint64_t>(test);
  argument[1] = static_cast<std::uint64_t>(way);
  argument[2] = bytes;
  argument[3] = operations;
}

DseWork DseWork::load(SharedPage& board) {
  const std::uint64_t* const argument = board.page().argument;
  return {static_cast<DseTest>(argument[0]), static_cast<DseWay>(argument[1]), argument[2], argument[3]};
}

std::uint64_t do_dse_work(Session& s) {
  const DseWork work = DseWork::load(s.board);
  if (work.way == DseWay::plain && !s.plain) s.plain = std::make_shared<PlainNode>(s.g);
  std::fill_n(static_cast<std::byte*>(s.memory.local()), kPlainBytes, shared_byte(index(s.g.rank())));
  must(s.g.barrier());
  if (work.way == DseWay::round_trip) return round_trip_ns(s, work);
  const std::uint64_t time_ns = measure(s, work);
  must(s.g.barrier());
  return time_ns;
}

}  // namespace grapnel::bench
