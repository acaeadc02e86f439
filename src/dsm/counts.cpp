// SPDX-License-Identifier: Apache-2.0
#include "dsm/counts.hpp"

#include <fmt/format.h>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "os/fault_handler.hpp"

namespace grapnel::dsm {
namespace {

// A part that another thread has added to before its whole.
std::uint64_t without(const base::Count& whole, const base::Count& part) {
  const std::uint64_t all = whole.value(), some = part.value();
  return all > some ? all - some : 0;
}

struct Row {
  const char* name;
  std::uint64_t SharedHeapCounts::*value;
};
constexpr Row kCounts[] = {
    {"faults", &SharedHeapCounts::faults},
    {"faults: writes", &SharedHeapCounts::write_faults},
    {"faults: elsewhere", &SharedHeapCounts::foreign_faults},
    {"mapped ahead", &SharedHeapCounts::mapped_ahead},
    {"fetches", &SharedHeapCounts::fetches},
    {"fetched pages", &SharedHeapCounts::fetched_pages},
    {"merges with writes", &SharedHeapCounts::merges_with_writes},
    {"questions: homes", &SharedHeapCounts::home_questions},
    {"questions: notices", &SharedHeapCounts::notice_questions},
    {"scans", &SharedHeapCounts::scans},
    {"scanned pages", &SharedHeapCounts::scanned_pages},
    {"written pages", &SharedHeapCounts::written_pages},
    {"diffs", &SharedHeapCounts::diffs},
    {"empty diffs", &SharedHeapCounts::empty_diffs},
    {"diff messages", &SharedHeapCounts::diff_messages},
    {"diff bytes", &SharedHeapCounts::diff_bytes},
    {"acknowledgements", &SharedHeapCounts::acknowledgements},
    {"intervals", &SharedHeapCounts::intervals},
    {"notices sent", &SharedHeapCounts::notices_sent},
    {"notices received", &SharedHeapCounts::notices_received},
    {"unmapped pages", &SharedHeapCounts::unmapped_pages},
    {"locks", &SharedHeapCounts::locks},
    {"barriers", &SharedHeapCounts::barriers},
    {"moved homes", &SharedHeapCounts::moves},
    {"lock messages", &SharedHeapCounts::lock_messages},
    {"condition waits", &SharedHeapCounts::condition_waits},
    {"condition messages", &SharedHeapCounts::condition_messages},
};

struct TimeRow {
  const char* name;
  std::uint64_t SharedHeapTimes::*value;
};
constexpr TimeRow kTimes[] = {
    {"trap", &SharedHeapTimes::trap_ns},       {"lookup", &SharedHeapTimes::lookup_ns},
    {"wire", &SharedHeapTimes::wire_ns},       {"merge", &SharedHeapTimes::merge_ns},
    {"map", &SharedHeapTimes::map_ns},         {"flush", &SharedHeapTimes::flush_ns},
    {"lock", &SharedHeapTimes::lock_ns},       {"acknowledgement", &SharedHeapTimes::acknowledgement_ns},
    {"barrier", &SharedHeapTimes::barrier_ns},
};

}  // namespace

SharedHeapCounts Counts::values(const LockCounts& of_locks) const {
  SharedHeapCounts values;
  values.faults = faults.value();
  values.write_faults = write_faults.value();
  values.foreign_faults = os::faults_passed_on();
  values.fetches = fetches.value();
  values.fetched_pages = fetched_pages.value();
  values.home_questions = home_questions.value();
  values.notice_questions = notice_questions.value();
  values.mapped_ahead = mapped_ahead.value();
  values.merges_with_writes = merges_with_writes.value();
  values.scans = scans.value();
  values.scanned_pages = scanned_pages.value();
  values.written_pages = written_pages.value();
  values.diffs = diffs.value();
  values.empty_diffs = empty_diffs.value();
  values.diff_messages = diff_messages.value();
  values.diff_bytes = diff_bytes.value();
  values.acknowledgements = acknowledgements.value();
  values.intervals = intervals.value();
  values.notices_sent = notices_sent.value();
  values.notices_received = notices_received.value();
  values.unmapped_pages = unmapped_pages.value();
  values.locks = locks.value();
  values.lock_messages = of_locks.messages + of_locks.server_messages;
  values.barriers = barriers.value();
  values.moves = moves.value();
  values.condition_waits = condition_waits.value();
  values.condition_messages = condition_messages.value();
  values.times = {trap.value(),
                  lookup.value(),
                  without(fetch, merge),
                  merge.value(),
                  map.value(),
                  without(release, acknowledgement),
                  acknowledgement.value(),
                  lock.value(),
                  barrier.value()};
  return values;
}

Result<std::string> table_of_counts(const SharedHeapCounts& mine, const core::Gather& gather) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, gather(base::bytes_of(mine)));
  SharedHeapCounts sum;
  for (const Bytes& bytes : all) {
    const auto one = base::Decoder(bytes).get<SharedHeapCounts>();
    if (!one) return Status(Code::system, "a rank sent counts of the shared heap that make no sense");
    for (const Row& row : kCounts) sum.*row.value += (*one).*row.value;
    for (const TimeRow& row : kTimes) sum.times.*row.value += one->times.*row.value;
  }
  std::string text = fmt::format("{:<20} {:>16}\n", "shared heap", "all ranks");
  for (const Row& row : kCounts) text += fmt::format("{:<20} {:>16}\n", row.name, sum.*row.value);
  for (const TimeRow& row : kTimes) {
    text += fmt::format("{:<20} {:>16.3f} ms\n", row.name,
                        static_cast<double>(sum.times.*row.value) / static_cast<double>(base::kMillisecond_ns));
  }
  return text;
}

}  // namespace grapnel::dsm
