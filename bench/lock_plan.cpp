// SPDX-License-Identifier: Apache-2.0
#include "lock_plan.hpp"

#include <fmt/format.h>

namespace grapnel::bench {
namespace {

struct Variant {
  std::string name;
  LockKind kind;
  bool shared;
};

// The papers' first: it is the limit of the others.
std::vector<Variant> exclusive() {
  std::vector<Variant> variants;
  for (const LockKind kind : {LockKind::server_queue, LockKind::ticket, LockKind::armci_hybrid, LockKind::test_and_set,
                              LockKind::mcs, LockKind::mcs_by_cas, LockKind::cohort, LockKind::reader_writer}) {
    variants.push_back({to_string(kind), kind, false});
  }
  return variants;
}

std::vector<Variant> all() {
  std::vector<Variant> variants = exclusive();
  variants.push_back({"reader_writer_shared", LockKind::reader_writer, true});
  return variants;
}

const std::vector<std::string>& modes() {
  static const std::vector<std::string> names = {"poll", "event", "adaptive"};
  return names;
}

std::string ending(const std::string& mode) { return mode.empty() ? "" : "/" + mode; }

// "metric/VARIANT/mode/what", with the limit's name beside it.
LockRow row(const std::string& metric, const Variant& variant, const std::string& tail, LockNumber number,
            const std::string& unit, double scale) {
  const auto named = [&](const std::string& name) { return metric + "/" + name + tail; };
  return {
      .name = named(variant.name), .baseline = named("server_queue"), .unit = unit, .number = number, .scale = scale};
}

LockWork work_of(LockOperation operation, const Variant& variant, std::uint64_t window_us) {
  return {.operation = operation, .kind = variant.kind, .shared = variant.shared, .window_us = window_us};
}

// ---- 6.1

LockItem overhead(const std::string& place, const Variant& variant, const std::string& mode, int home, bool ns) {
  LockWork work = work_of(LockOperation::overhead, variant, mode == "poll" ? 30'000 : 15'000);
  work.extra = static_cast<std::uint64_t>(home);
  LockItem item{work, {}};
  const std::string unit = ns ? "ns" : "us";
  const double scale = ns ? 1 : 1e-3;
  const std::string metric = "overhead/" + place;
  item.rows.push_back(row(metric, variant, ending(mode) + "/acquire", kAcquire, unit, scale));
  item.rows.push_back(row(metric, variant, ending(mode) + "/release", kRelease, unit, scale));
  item.rows.push_back(row(metric, variant, ending(mode) + "/both", kBoth, unit, scale));
  return item;
}

// The paper's nonblocking acquisition: what starting costs, and what is left to wait for after some computation.
LockItem nonblocking(const Variant& variant, const std::string& mode) {
  constexpr std::uint64_t kCompute_us = 200;
  LockWork work = work_of(LockOperation::nonblocking, variant, mode == "poll" ? 30'000 : 15'000);
  work.extra = kCompute_us;
  LockItem item{work, {}};
  const std::string metric = "nonblocking/remote";
  item.rows.push_back(row(metric, variant, ending(mode) + "/start", kStart, "us", 1e-3));
  item.rows.push_back(
      row(metric, variant, fmt::format("{}/wait_after_{}us", ending(mode), kCompute_us), kWait, "us", 1e-3));
  return item;
}

LockPart overheads(const std::string& mode) {
  LockPart part{"locks_2", mode, 15, {}};
  for (const Variant& variant : all()) part.items.push_back(overhead("remote", variant, mode, 0, false));
  for (const Variant& variant : all()) part.items.push_back(overhead("home", variant, mode, 1, false));
  for (const Variant& variant : exclusive()) part.items.push_back(nonblocking(variant, mode));
  return part;
}

// ---- 6.2

LockItem delay(const std::string& place, const Variant& variant, const std::string& mode) {
  LockWork work = work_of(LockOperation::delay, variant, 0);
  work.extra = 12;
  return {work, {row("delay/" + place, variant, ending(mode), kDelay, "us", 1e-3)}};
}

LockPart delays(const std::string& mode) {
  LockPart part{"locks_3", mode, 15, {}};
  for (const Variant& variant : exclusive()) part.items.push_back(delay("nodes", variant, mode));
  return part;
}

// ---- 6.3 and 6.4

LockItem load(const std::string& place, const Variant& variant, const std::string& mode, LockLayout layout,
              int origins) {
  LockWork work = work_of(LockOperation::load, variant, mode == "poll" ? 30'000 : 15'000);
  work.layout = layout;
  work.origins = static_cast<std::uint64_t>(origins);
  const std::string locks = layout == LockLayout::one ? "one_lock" : "many_locks";
  LockRow rate =
      row(fmt::format("concurrency/{}/{}/{}_origins", place, locks, origins), variant, ending(mode), kRate, "1/s", 1);
  rate.better = Better::higher;
  LockItem item{work, {rate}};
  if (!mode.empty() && layout == LockLayout::one) {
    LockRow messages =
        row(fmt::format("messages/contended/{}_origins", origins), variant, ending(mode), kMessages, "messages", 1);
    messages.over = kAcquisitions;
    item.rows.push_back(messages);
  }
  return item;
}

// Servers that poll take a processor each: with more of them than processors there is nothing to be learnt.
LockPart loads(const std::string& mode) {
  const bool polls = mode == "poll";
  LockPart part{mode.empty() ? "locks_same" : polls ? "locks_3" : "locks_8", mode, 30, {}};
  const std::vector<int> origins = polls          ? std::vector<int>{1, 2}
                                   : mode.empty() ? std::vector<int>{1, 2, 4}
                                                  : std::vector<int>{1, 2, 4, 7};
  for (const int count : origins) {
    for (const LockLayout layout : {LockLayout::one, LockLayout::many}) {
      for (const Variant& variant : all()) {
        part.items.push_back(load(mode.empty() ? "one_node" : "nodes", variant, mode, layout, count));
      }
    }
  }
  return part;
}

LockPart counts() {
  LockPart part{"locks_3", "adaptive", 15, {}};
  for (const Variant& variant : exclusive()) {
    LockItem item{work_of(LockOperation::counts, variant, 0), {}};
    for (const auto& [number, what] :
         {std::pair{kFreeAcquire, "free_acquire"}, {kFreeRelease, "free_release"}, {kHandOff, "hand_off"}}) {
      // Who tries again and again pays by the time that it waits: `messages/contended` has that.
      const bool polls = variant.kind == LockKind::ticket || variant.kind == LockKind::test_and_set;
      if (number == kHandOff && polls) continue;
      LockRow one = row(fmt::format("messages/{}", what), variant, "", number, "messages", 1);
      one.baseline.clear();
      item.rows.push_back(one);
    }
    part.items.push_back(item);
  }
  return part;
}

// ---- 6.5

constexpr std::uint64_t kPace_us = 1000;

LockItem computing(const Variant& variant, const std::string& mode, int threads) {
  LockWork work = work_of(LockOperation::computing, variant, 40'000);
  work.origins = static_cast<std::uint64_t>(threads);
  LockItem item{work, {}};
  item.rows.push_back(
      row(fmt::format("cpu/iteration/{}_threads", threads), variant, ending(mode), kIteration, "us", 1e-3));
  if (threads == 0) {
    LockRow busy = row("cpu/target_time", variant, ending(mode), kTargetBusy_ns, "us", 1e-3);
    busy.over = kAcquisitions;
    item.rows.push_back(busy);
  }
  return item;
}

LockRow loss(const std::string& name) {
  return {.name = name, .baseline = {}, .unit = "%", .number = kLost, .scale = 100};
}

LockItem paced(const Variant& variant, const std::string& mode, int threads) {
  LockWork work = work_of(LockOperation::computing, variant, 40'000);
  work.origins = static_cast<std::uint64_t>(threads);
  work.extra = kPace_us;
  const std::string metric = fmt::format("cpu/loss/{}_threads", threads);
  LockRow lost = loss(metric + "/" + variant.name + ending(mode));
  lost.baseline = metric + "/server_queue" + ending(mode);
  return {work, {lost}};
}

LockItem at_rest(const std::string& mode, int threads) {
  LockWork work = work_of(LockOperation::computing, exclusive().back(), 40'000);
  work.origins = static_cast<std::uint64_t>(threads);
  work.extra = 10'000'000;  // beyond the window: nothing is asked for
  return {work, {loss(fmt::format("cpu/loss_at_rest/{}_threads{}", threads, ending(mode)))}};
}

LockPart computations(const std::string& mode) {
  LockPart part{"locks_bound_2", mode, 40, {}};
  for (const int threads : {0, 1, 2, 4}) {
    for (const Variant& variant : exclusive()) part.items.push_back(computing(variant, mode, threads));
  }
  for (const int threads : {1, 2, 4}) {
    part.items.push_back(at_rest(mode, threads));
    for (const Variant& variant : exclusive()) part.items.push_back(paced(variant, mode, threads));
  }
  return part;
}

// Two origins on one node, two targets on the other, each with one of its own: the paper's SMP mode.
LockPart assignments(const std::string& mode) {
  LockPart part{"locks_bound_4", mode, 10, {}};
  for (const int pairs : {1, 2}) {
    for (const Variant& variant : exclusive()) {
      LockWork work = work_of(LockOperation::load, variant, mode == "poll" ? 30'000 : 15'000);
      work.layout = LockLayout::pairs;
      work.origins = static_cast<std::uint64_t>(pairs);
      LockRow iteration =
          row(fmt::format("cpu/assignment/{}_to_{}", pairs, pairs), variant, ending(mode), kIteration, "us", 1e-3);
      iteration.over = kOrigins;
      part.items.push_back({work, {iteration}});
    }
  }
  return part;
}

LockPart in_the_node() {
  LockPart part = loads("");
  std::vector<LockItem> items;
  for (const Variant& variant : all()) items.push_back(overhead("one_node", variant, "", 0, true));
  for (const Variant& variant : exclusive()) items.push_back(delay("one_node", variant, ""));
  part.items.insert(part.items.begin(), items.begin(), items.end());
  return part;
}

}  // namespace

std::vector<LockPart> lock_plan() {
  std::vector<LockPart> plan = {in_the_node(), counts()};
  for (const std::string& mode : modes()) {
    plan.push_back(overheads(mode));
    plan.push_back(delays(mode));
    plan.push_back(loads(mode));
    plan.push_back(computations(mode));
    plan.push_back(assignments(mode));
  }
  return plan;
}

std::vector<std::string> lock_sim_rows() {
  std::vector<std::string> names;
  for (const Variant& variant : exclusive()) names.push_back("sim/delay/" + variant.name + "/5ms_delay");
  return names;
}

}  // namespace grapnel::bench
