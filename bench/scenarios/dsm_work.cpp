// SPDX-License-Identifier: Apache-2.0
#include "scenarios/dsm_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "scenarios/dsm_use.hpp"

namespace grapnel::bench {
namespace {

constexpr std::size_t kBlockPages = 16;  // whose homes one answer of the directory names
constexpr std::size_t kKeptPages = 512;  // that one node's directory has

// One of the two is null.
struct Entry {
  DsmOperation operation;
  DsmNumbers (*count)(Session&, const DsmWork&);
  double (*time)(Session&, const DsmWork&);
};

constexpr Entry kEntries[] = {
    {DsmOperation::count_miss, count_miss, nullptr},
    {DsmOperation::count_sequence, count_sequence, nullptr},
    {DsmOperation::count_first_write, count_first_write, nullptr},
    {DsmOperation::count_release, count_release, nullptr},
    {DsmOperation::count_barrier, count_barrier, nullptr},
    {DsmOperation::count_hand_off, count_hand_off, nullptr},
    {DsmOperation::count_home, count_home, nullptr},
    {DsmOperation::count_jacobi, count_jacobi, nullptr},
    {DsmOperation::count_sor, count_sor, nullptr},
    {DsmOperation::count_one_node, count_one_node, nullptr},
    {DsmOperation::get_and_trap, nullptr, time_get_and_trap},
    {DsmOperation::miss, nullptr, time_miss},
    {DsmOperation::first_miss, nullptr, time_first_miss},
    {DsmOperation::sequence, nullptr, time_sequence},
    {DsmOperation::first_sequence, nullptr, time_first_sequence},
    {DsmOperation::diff_and_message, nullptr, time_diff_and_message},
    {DsmOperation::release, nullptr, time_release},
    {DsmOperation::runtime_barrier, nullptr, time_runtime_barrier},
    {DsmOperation::heap_barrier, nullptr, time_heap_barrier},
    {DsmOperation::runtime_hand_off, nullptr, time_runtime_hand_off},
    {DsmOperation::heap_hand_off, nullptr, time_heap_hand_off},
    {DsmOperation::jacobi_sequential, nullptr, time_jacobi_sequential},
    {DsmOperation::jacobi_plain, nullptr, time_jacobi_plain},
    {DsmOperation::jacobi_by_hand, nullptr, time_jacobi_by_hand},
    {DsmOperation::jacobi_heap, nullptr, time_jacobi_heap},
};

void open(Session& s) {
  auto opened = s.g.open_shared_heap();
  if (!opened) fail(opened.status());
  auto locks = s.g.create_lock_set(1);
  if (!locks) fail(locks.status());
  s.heap_use = std::make_shared<HeapUse>(HeapUse{.heap = *std::move(opened), .locks = *std::move(locks)});
}

// The first page is `after` a multiple of `every` pages.
std::byte* take_pages(Session& s, std::size_t pages, std::size_t every = kBlockPages, std::size_t after = 0) {
  SharedHeap& heap = s.heap_use->heap;
  std::uintptr_t first = 0;
  if (index(s.g.rank()) == 0) {
    const auto block = heap.allocate((pages + every) * kHeapPageBytes);
    if (!block) fail(block.status());
    first = reinterpret_cast<std::uintptr_t>(*block);
  }
  const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(&first, 1)));
  if (!all) fail(all.status());
  std::memcpy(&first, all->front().data(), sizeof first);
  const auto base = reinterpret_cast<std::uintptr_t>(heap.base());
  const std::size_t page = (first - base) / kHeapPageBytes;
  const std::size_t chosen = page + (after + every - page % every) % every;
  return static_cast<std::byte*>(heap.base()) + chosen * kHeapPageBytes;
}

}  // namespace

void DsmWork::store(SharedPage& board) const {
  std::uint64_t* const argument = board.page().argument;
  argument[0] = static_cast<std::uint64_t>(operation);
  argument[1] = static_cast<std::uint64_t>(trap);
  argument[2] = pages;
  argument[3] = words;
  argument[4] = busy ? 1 : 0;
  argument[5] = n;
  argument[6] = iterations;
}

DsmWork DsmWork::load(SharedPage& board) {
  const std::uint64_t* const argument = board.page().argument;
  return {static_cast<DsmOperation>(argument[0]),
          static_cast<DsmTrap>(argument[1]),
          argument[2],
          argument[3],
          argument[4] != 0,
          argument[5],
          argument[6]};
}

std::uint64_t do_dsm_work(Session& s) {
  const DsmWork work = DsmWork::load(s.board);
  if (!s.heap_use) open(s);
  const auto entry = std::find_if(std::begin(kEntries), std::end(kEntries),
                                  [&](const Entry& one) { return one.operation == work.operation; });
  must(s.g.barrier());
  double time_ns = 0;
  if (entry->time != nullptr) {
    time_ns = entry->time(s, work);
  } else {
    const DsmNumbers numbers = entry->count(s, work);
    if (index(s.g.rank()) == 0) std::copy(numbers.begin(), numbers.end(), s.board.page().number);
  }
  must(s.g.barrier());
  return static_cast<std::uint64_t>(time_ns);
}

HeapPages fresh_pages(Session& s, std::size_t pages) { return HeapPages(take_pages(s, pages)); }

HeapPages fresh_pages_kept_by_1(Session& s, std::size_t pages) {
  return HeapPages(take_pages(s, pages, 2 * kKeptPages, kKeptPages));
}

HeapPages lasting_pages(Session& s, DsmOperation operation, std::size_t pages) {
  auto& areas = s.heap_use->areas;
  const auto found = areas.find(operation);
  if (found != areas.end()) return HeapPages(found->second);
  return HeapPages(areas.emplace(operation, take_pages(s, pages)).first->second);
}

SharedHeapCounts since(const SharedHeap& heap, const SharedHeapCounts& before) {
  SharedHeapCounts grown = heap.counts();
  grown.faults -= before.faults;
  grown.fetches -= before.fetches;
  grown.home_questions -= before.home_questions;
  grown.notice_questions -= before.notice_questions;
  grown.diffs -= before.diffs;
  grown.diff_messages -= before.diff_messages;
  grown.diff_bytes -= before.diff_bytes;
  grown.acknowledgements -= before.acknowledgements;
  grown.intervals -= before.intervals;
  grown.lock_messages -= before.lock_messages;
  return grown;
}

// Every question has one answer.
double messages_of(const SharedHeapCounts& counts) {
  const std::uint64_t questions = counts.fetches + counts.home_questions + counts.notice_questions;
  return static_cast<double>(2 * questions + counts.diff_messages + counts.acknowledgements);
}

std::vector<DsmNumbers> all_numbers(Session& s, const DsmNumbers& mine) {
  const auto all = s.g.allgather(s.g.world(), std::as_bytes(std::span(mine)));
  if (!all) fail(all.status());
  std::vector<DsmNumbers> numbers(all->size());
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(numbers[i].data(), (*all)[i].data(), sizeof mine);
  return numbers;
}

DsmNumbers sum_of_numbers(Session& s, const DsmNumbers& mine) {
  DsmNumbers sum{};
  for (const DsmNumbers& one : all_numbers(s, mine)) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  }
  return sum;
}

void expect_read(std::uint64_t found, std::uint64_t written) {
  if (found == written) return;
  fail(Status(Code::system, fmt::format("read {} from the shared heap where {} was written", found, written)));
}

}  // namespace grapnel::bench
