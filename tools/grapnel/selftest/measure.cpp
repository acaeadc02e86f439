// SPDX-License-Identifier: Apache-2.0
#include "selftest/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "os/clock.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::uint64_t kLongEnough_ns = 20 * base::kMicrosecond_ns, kBudget_ns = 20 * base::kMillisecond_ns;
constexpr std::size_t kLeastBatches = 5, kMostBatches = 1000, kMostInBatch = 256;
constexpr int kWarmUps = 3;

// Far from the baseline: a busy machine is within it.
constexpr double kSmallFactor = 10, kBulkFactor = 5, kLeastSlow_us = 100, kSlowInside_us = 20;
constexpr std::size_t kSmallBytes = 4096;

enum class Senders { rank, rank_and_server };

// A server also sends heartbeats, so its messages count only where it sends for the operation.
std::uint64_t messages_sent(const Runtime& runtime, Senders senders) {
  std::uint64_t sum = 0;
  for (const OperationCount& row : runtime.operation_counts()) {
    const bool of_server = row.operation == "sent by servers" && senders == Senders::rank_and_server;
    if (row.operation == "sent by ranks" || of_server) sum += row.wire_messages;
  }
  return sum;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Microseconds of one.
Result<double> time_batch(std::size_t batch, const std::function<Status()>& once) {
  const std::uint64_t begin = os::monotonic_ns();
  for (std::size_t i = 0; i < batch; ++i) GRAPNEL_TRY(once());
  return static_cast<double>(os::monotonic_ns() - begin) / 1e3 / static_cast<double>(batch);
}

// What the machine does without Grapnel; 0 where nothing of the kind was measured.
double bare_time(const Measured& what, const Baseline& baseline) {
  const bool small = what.bytes < kSmallBytes, bulk = what.bytes == kBulkBytes;
  if (what.between == Between::ranks_of_a_node) return bulk ? baseline.copy_us : 0;
  if (!baseline.between_nodes) return 0;
  return small ? baseline.between_nodes->round_trip_us : bulk ? baseline.between_nodes->bulk_us : 0;
}

double limit(const Measured& what, double bare_us) {
  const bool small = what.bytes < kSmallBytes;
  if (bare_us > 0) return std::max(kLeastSlow_us, (small ? kSmallFactor : kBulkFactor) * bare_us);
  const bool store = what.between == Between::ranks_of_a_node && small && !what.wakes_target;
  return store ? kSlowInside_us : std::numeric_limits<double>::max();
}

// Of batches.
Cost cost_of(std::vector<double>& times, std::uint64_t messages, std::size_t operations) {
  const double least_us = *std::min_element(times.begin(), times.end());
  return {median(times), least_us, static_cast<double>(messages) / static_cast<double>(operations)};
}

}  // namespace

Result<Cost> measure(Runtime& runtime, const std::function<Status()>& once) {
  for (int i = 0; i < kWarmUps; ++i) GRAPNEL_TRY(once());
  GRAPNEL_ASSIGN_OR_RETURN(const double first_us, time_batch(1, once));
  const auto batch = static_cast<std::size_t>(
      std::clamp(static_cast<double>(kLongEnough_ns) / 1e3 / std::max(first_us, 0.01), 1.0, double{kMostInBatch}));
  std::vector<double> times;
  const std::uint64_t sent = messages_sent(runtime, Senders::rank), end = os::monotonic_ns() + kBudget_ns;
  while (times.size() < kLeastBatches || (os::monotonic_ns() < end && times.size() < kMostBatches)) {
    GRAPNEL_ASSIGN_OR_RETURN(const double us, time_batch(batch, once));
    times.push_back(us);
  }
  return cost_of(times, messages_sent(runtime, Senders::rank) - sent, batch * times.size());
}

Result<Cost> measure_times(Runtime& runtime, int times, const std::function<Status()>& once) {
  for (int i = 0; i < kWarmUps; ++i) GRAPNEL_TRY(once());
  std::vector<double> all;
  const std::uint64_t sent = messages_sent(runtime, Senders::rank_and_server);
  for (int i = 0; i < times; ++i) {
    GRAPNEL_ASSIGN_OR_RETURN(const double us, time_batch(1, once));
    all.push_back(us);
  }
  return cost_of(all, messages_sent(runtime, Senders::rank_and_server) - sent, all.size());
}

double measure_copy() {
  const Bytes from(kBulkBytes, std::byte{1});
  Bytes to(kBulkBytes);
  double least_us = std::numeric_limits<double>::max();
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t begin = os::monotonic_ns();
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" : : "r"(to.data()) : "memory");
    least_us = std::min(least_us, static_cast<double>(os::monotonic_ns() - begin) / 1e3);
  }
  return least_us;
}

void judge(Row& row, const Cost& cost, const Measured& what, const Baseline& baseline) {
  row.latency_us = cost.us;
  row.messages = cost.messages;
  if (what.bytes >= kSmallBytes) row.bandwidth_mb_s = static_cast<double>(what.bytes) / cost.us;
  const double bare_us = bare_time(what, baseline), limit_us = limit(what, bare_us);
  if (row.verdict != Verdict::good || cost.least_us <= limit_us) return;
  row.verdict = Verdict::slow;
  row.found += fmt::format("{}{:.1f} µs at best", row.found.empty() ? "" : "; ", cost.least_us);
  if (bare_us > 0) row.found += fmt::format(", and without Grapnel {:.1f}", bare_us);
  row.remedy =
      what.between == Between::nodes
          ? "look what else runs on both machines, then run it again; GRAPNEL_PROGRESS=poll with a processor to "
            "spare per node; tcp: docs/transport.md on congestion control, UCX_NET_DEVICES for another network"
          : "look what else runs on the machine (more ranks than processors, another job), then run it again";
}

}  // namespace grapnel::tool::selftest
