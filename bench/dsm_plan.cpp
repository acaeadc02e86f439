// SPDX-License-Identifier: Apache-2.0
#include "dsm_plan.hpp"

#include <fmt/format.h>

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kSequence = 256;      // pages
constexpr std::uint64_t kReleased = 64;       // pages
constexpr std::uint64_t kPatternSize = 1024;  // rows of 8 KiB in jacobi, of 4 KiB in sor
constexpr std::uint64_t kSize = 1024, kIterations = 100;
constexpr int kSequencePairs = 61;                      // each turn takes pages of the heap, which has room for so many
constexpr int kProgramPairs = 9, kSequentialPairs = 3;  // they take tenths of a second

DsmWork work_of(DsmOperation operation, DsmTrap trap, std::uint64_t pages = 0, std::uint64_t words = 0) {
  return {.operation = operation, .trap = trap, .pages = pages, .words = words};
}

DsmWork jacobi_work(DsmOperation operation, std::uint64_t n, std::uint64_t iterations) {
  return {.operation = operation, .n = n, .iterations = iterations};
}

// ---- counts

DsmCount counted(DsmTrap trap, const std::string& name, const std::string& unit, DsmNumber number,
                 std::optional<DsmNumber> limit = {}) {
  return {fmt::format("counts/{}/{}", to_string(trap), name), unit, number, limit};
}

std::vector<DsmCounting> counts_of_2_nodes(DsmTrap trap) {
  return {
      {work_of(DsmOperation::count_miss, trap),
       {counted(trap, "miss/signals", "signals", kSignals), counted(trap, "miss/messages", "messages", kWireMessages)}},
      {work_of(DsmOperation::count_sequence, trap, kSequence),
       {counted(trap, "sequence/fetches", "fetches", kFetches),
        counted(trap, "sequence/home_questions", "questions", kHomeQuestions)}},
      {work_of(DsmOperation::count_first_write, trap, 16), {counted(trap, "first_write/signals", "signals", kSignals)}},
      {work_of(DsmOperation::count_release, trap, kReleased),
       {counted(trap, "release/messages", "messages", kDiffMessages, kLeastMessages)}},
      {work_of(DsmOperation::count_home, trap, 16),
       {counted(trap, "home_alone/signals", "signals", kSignals), counted(trap, "home_alone/diffs", "diffs", kDiffs),
        counted(trap, "home_alone/intervals", "intervals", kIntervals)}}};
}

std::vector<DsmCounting> counts_of_4_nodes(DsmTrap trap) {
  DsmWork jacobi = jacobi_work(DsmOperation::count_jacobi, kPatternSize, 0);
  DsmWork sor = jacobi_work(DsmOperation::count_sor, kPatternSize, 0);
  return {
      {work_of(DsmOperation::count_release, trap, 4),
       {counted(trap, "release/3_homes/messages", "messages", kDiffMessages, kHomes),
        counted(trap, "release/3_homes/acknowledgements", "messages", kAcknowledgements, kHomes)}},
      {work_of(DsmOperation::count_barrier, trap),
       {counted(trap, "barrier/messages", "messages", kOfHeap, kOfRuntime)}},
      {work_of(DsmOperation::count_hand_off, trap), {counted(trap, "hand_off/messages", "messages", kHandOffMessages)}},
      {jacobi,
       {counted(trap, "jacobi/diffs", "diffs", kGridDiffs),
        counted(trap, "jacobi/requests", "requests", kGridRequests)}},
      {sor,
       {counted(trap, "sor/diffs", "diffs", kGridDiffs), counted(trap, "sor/requests", "requests", kGridRequests)}}};
}

DsmCounting counts_of_one_node() {
  return {jacobi_work(DsmOperation::count_one_node, 128, 20),
          {{"counts/one_node/signals", "signals", kSignals},
           {"counts/one_node/messages", "messages", kWireMessages},
           {"counts/one_node/diffs", "diffs", kDiffs}}};
}

// ---- ratios

DsmPairs ratio(DsmTrap trap, const std::string& name, const DsmWork& limit, const DsmWork& ours) {
  return {.name = fmt::format("ratios/{}/{}", to_string(trap), name), .limit = limit, .ours = ours};
}

// Barrier and lock first: what they cost depends on the pages that are mapped.
std::vector<DsmPairs> ratios_of_2_nodes(DsmTrap trap) {
  const DsmWork parts = work_of(DsmOperation::get_and_trap, trap);
  const DsmWork idle = work_of(DsmOperation::miss, trap);
  DsmWork busy = idle;
  busy.busy = true;
  DsmPairs sequence = ratio(trap, "sequence", parts, work_of(DsmOperation::sequence, trap, kSequence));
  DsmPairs first = ratio(trap, "first_sequence", parts, work_of(DsmOperation::first_sequence, trap, kSequence));
  sequence.most = first.most = kSequencePairs;
  return {ratio(trap, "barrier", work_of(DsmOperation::runtime_barrier, trap),
                work_of(DsmOperation::heap_barrier, trap, kSequence)),
          ratio(trap, "hand_off", work_of(DsmOperation::runtime_hand_off, trap),
                work_of(DsmOperation::heap_hand_off, trap)),
          ratio(trap, "miss", parts, idle),
          ratio(trap, "first_miss", parts, work_of(DsmOperation::first_miss, trap)),
          sequence,
          first,
          ratio(trap, "busy_home", idle, busy)};
}

std::vector<DsmPairs> ratios_of_release(DsmTrap trap) {
  std::vector<DsmPairs> rows;
  for (const std::uint64_t words : {1, 51, 512}) {
    rows.push_back(ratio(trap, fmt::format("release/{}_of_512_words", words),
                         work_of(DsmOperation::diff_and_message, trap, kReleased, words),
                         work_of(DsmOperation::release, trap, kReleased, words)));
  }
  return rows;
}

// ---- programs

std::vector<DsmPairs> jacobi(const std::string& place, DsmOperation limit) {
  const auto row = [&](const std::string& name, DsmOperation beside) {
    DsmPairs pairs{.name = fmt::format("programs/jacobi/{}/{}", place, name),
                   .limit = jacobi_work(beside, kSize, kIterations),
                   .ours = jacobi_work(DsmOperation::jacobi_heap, kSize, kIterations)};
    pairs.unit = "ms";
    pairs.scale = 1e-6;
    pairs.same_result = true;
    pairs.most = kProgramPairs;
    return pairs;
  };
  DsmPairs sequential = row("against_sequential", DsmOperation::jacobi_sequential);
  sequential.most = kSequentialPairs;
  return {row(limit == DsmOperation::jacobi_plain ? "against_plain_memory" : "against_by_hand", limit), sequential};
}

}  // namespace

std::string to_string(DsmTrap trap) { return trap == DsmTrap::uffd ? "uffd" : "mprotect"; }

std::vector<DsmPart> dsm_plan() {
  std::vector<DsmPart> plan = {{.job = "dsm_one_node",
                                .counts = {counts_of_one_node()},
                                .pairs = jacobi("one_node", DsmOperation::jacobi_plain)}};
  for (const DsmTrap trap : {DsmTrap::uffd, DsmTrap::mprotect}) {
    const std::string name = to_string(trap);
    plan.push_back({.job = "dsm_2", .trap = trap, .counts = counts_of_2_nodes(trap), .pairs = ratios_of_2_nodes(trap)});
    plan.push_back({.job = "dsm_2_raw", .trap = trap, .counts = {}, .pairs = ratios_of_release(trap), .moves = false});
    plan.push_back({.job = "dsm_4", .trap = trap, .counts = counts_of_4_nodes(trap), .pairs = {}});
    plan.push_back(
        {.job = "dsm_2", .trap = trap, .counts = {}, .pairs = jacobi("2_nodes/" + name, DsmOperation::jacobi_by_hand)});
    plan.push_back(
        {.job = "dsm_4", .trap = trap, .counts = {}, .pairs = jacobi("4_nodes/" + name, DsmOperation::jacobi_by_hand)});
  }
  return plan;
}

}  // namespace grapnel::bench
