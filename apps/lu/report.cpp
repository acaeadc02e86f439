// Ranks put fixed-size records to rank 0, which adds them up.
// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lu {

using grapnel::OperationCount;
using grapnel::Rank;
using grapnel::Result;

namespace {

constexpr std::size_t kNameBytes = 32;
/// More kinds of operation than the interface has; what exceeds it is summed in the last line.
constexpr std::size_t kMaxOperations = 40;

/// As they lie in rank 0's memory.
struct OperationRecord {
  char name[kNameBytes];
  std::uint64_t shared_operations, shared_bytes, wire_operations, wire_bytes, wire_messages;
};
struct RankRecord {
  ReadCounts reads;
  OperationRecord factorization[kMaxOperations];
  OperationRecord whole_run[kMaxOperations];
};

void add_numbers(OperationCount& sum, const OperationCount& more) {
  sum.shared_operations += more.shared_operations;
  sum.shared_bytes += more.shared_bytes;
  sum.wire_operations += more.wire_operations;
  sum.wire_bytes += more.wire_bytes;
  sum.wire_messages += more.wire_messages;
}

OperationCount* find(Counts& counts, const std::string& operation) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const OperationCount& count) { return count.operation == operation; });
  return found == counts.end() ? nullptr : &*found;
}

void pack(Counts counts, OperationRecord* records) {
  for (; counts.size() > kMaxOperations; counts.pop_back()) {
    add_numbers(counts[kMaxOperations - 1], counts.back());
    counts[kMaxOperations - 1].operation = "others";
  }
  for (const OperationCount& count : counts) {
    OperationRecord& record = *records++;
    std::memcpy(record.name, count.operation.data(), std::min(count.operation.size(), kNameBytes - 1));
    record.shared_operations = count.shared_operations;
    record.shared_bytes = count.shared_bytes;
    record.wire_operations = count.wire_operations;
    record.wire_bytes = count.wire_bytes;
    record.wire_messages = count.wire_messages;
  }
}

Counts unpack(const OperationRecord* records) {
  Counts counts;
  for (std::size_t i = 0; i < kMaxOperations && records[i].name[0] != '\0'; ++i) {
    const OperationRecord& record = records[i];
    counts.push_back({record.name, record.shared_operations, record.shared_bytes, record.wire_operations,
                      record.wire_bytes, record.wire_messages});
  }
  return counts;
}

void add_reads(ReadCounts& sum, const ReadCounts& more) {
  sum.own_blocks += more.own_blocks;
  sum.own_bytes += more.own_bytes;
  sum.pointer_blocks += more.pointer_blocks;
  sum.pointer_bytes += more.pointer_bytes;
  sum.get_blocks += more.get_blocks;
  sum.get_bytes += more.get_bytes;
}

std::string rows(const Counts& counts) {
  OperationCount total{"sum"};
  std::string text;
  const auto row = [&text](const OperationCount& count) {
    text += fmt::format("  {:<22}{:>12}{:>16}{:>14}{:>16}{:>12}\n", count.operation, count.shared_operations,
                        count.shared_bytes, count.wire_operations, count.wire_bytes, count.wire_messages);
  };
  for (const OperationCount& count : counts) {
    row(count);
    add_numbers(total, count);
  }
  row(total);
  return text;
}

}  // namespace

Counts difference(const Counts& after, const Counts& before) {
  Counts result;
  for (OperationCount count : after) {
    for (const OperationCount& old : before) {
      if (old.operation != count.operation) continue;
      count.shared_operations -= old.shared_operations;
      count.shared_bytes -= old.shared_bytes;
      count.wire_operations -= old.wire_operations;
      count.wire_bytes -= old.wire_bytes;
      count.wire_messages -= old.wire_messages;
    }
    if (count.shared_operations + count.wire_operations + count.wire_messages > 0) result.push_back(count);
  }
  return result;
}

void add(Counts& sum, const Counts& more) {
  for (const OperationCount& count : more) {
    if (OperationCount* known = find(sum, count.operation)) {
      add_numbers(*known, count);
    } else {
      sum.push_back(count);
    }
  }
}

Result<Activity> sum_activity(grapnel::Runtime& runtime, const Activity& mine) {
  const bool sums = runtime.rank() == Rank{0};
  auto memory = runtime.allocate(sums ? static_cast<std::size_t>(runtime.size()) * sizeof(RankRecord) : 0);
  if (!memory) return memory.status();
  RankRecord record{};
  record.reads = mine.reads;
  pack(mine.factorization, record.factorization);
  pack(mine.whole_run, record.whole_run);
  auto* records = static_cast<RankRecord*>(memory->on(Rank{0}));
  GRAPNEL_TRY(runtime.put(&record, records + grapnel::index(runtime.rank()), sizeof record, Rank{0}));
  GRAPNEL_TRY(runtime.barrier());
  Activity sum;
  for (int rank = 0; sums && rank < runtime.size(); ++rank) {
    add_reads(sum.reads, records[rank].reads);
    add(sum.factorization, unpack(records[rank].factorization));
    add(sum.whole_run, unpack(records[rank].whole_run));
  }
  GRAPNEL_TRY(runtime.free(*memory));
  return sum;
}

std::string table(const Activity& sum) {
  const ReadCounts& reads = sum.reads;
  std::string text = "\nblocks read while factoring, all ranks together\n";
  const auto line = [&text](const char* how, std::uint64_t blocks, std::uint64_t bytes) {
    text += fmt::format("  {:<22}{:>12} blocks{:>16} bytes\n", how, blocks, bytes);
  };
  line("own", reads.own_blocks, reads.own_bytes);
  line("node's, by pointer", reads.pointer_blocks, reads.pointer_bytes);
  line("other nodes', by get", reads.get_blocks, reads.get_bytes);
  const std::string head =
      fmt::format("  {:<22}{:>28}{:>42}\n  {:<22}{:>12}{:>16}{:>14}{:>16}{:>12}\n", "", "by shared memory", "by wire",
                  "", "operations", "bytes", "operations", "bytes", "messages");
  text += "\nGrapnel's operations, all ranks together: the factorization\n" + head + rows(sum.factorization);
  text += "\nthe whole run, with loading and checks\n" + head + rows(sum.whole_run);
  return text;
}

}  // namespace lu
