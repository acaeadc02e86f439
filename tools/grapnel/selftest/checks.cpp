// SPDX-License-Identifier: Apache-2.0
#include "selftest/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "output.hpp"
#include "runtime/services.hpp"
#include "selftest/job_wide.hpp"
#include "selftest/lines.hpp"
#include "selftest/measure.hpp"
#include "selftest/operations.hpp"
#include "selftest/survey.hpp"

namespace grapnel::tool::selftest {
namespace {

// An operation may make a connection, which has 10 s by itself (GRAPNEL_CONNECT_MS) and then names the hosts.
constexpr double kStart_s = 20, kOperation_s = 14, kFinish_s = 10, kCompute_s = 5;
constexpr int kSharedTimes = 100;
constexpr const char* kWrongRemedy =
    "this is a fault: run it again with GRAPNEL_NATIVE_RMA=0, and with UCX_TLS=tcp, to see which way it is, and report "
    "it "
    "with the output of `grapnel info`";

// What the ranks of a job do, one operation after another.
class Checks {
 public:
  Checks(Runtime& runtime, Survey survey, Steps& steps)
      : g_(runtime), survey_(std::move(survey)), steps_(steps), baseline_{survey_.bare, measure_copy()} {}

  Status run() {
    steps_.begin("memory, locks and the first connections", kOperation_s);
    GRAPNEL_ASSIGN_OR_RETURN(const Memory slots, g_.allocate(2 * kSlotBytes));
    GRAPNEL_ASSIGN_OR_RETURN(const Memory words, g_.allocate(kWordsBytes));
    GRAPNEL_ASSIGN_OR_RETURN(const LockSet locks, g_.create_lock_set(2));
    for (const Between between : {Between::ranks_of_a_node, Between::nodes}) {
      Scene scene(g_, slots, locks, between);
      GRAPNEL_TRY(try_all(scene));
    }
    GRAPNEL_TRY(all_ranks(
        "barrier", [&] { return try_barrier(g_, words); }, [&] { return g_.barrier(); }));
    const Reduction add = reduction(Operation::sum, NumberType::int64).value();
    std::int64_t one = 1, sum = 0;
    GRAPNEL_TRY(all_ranks(
        "collectives", [&] { return try_collectives(g_); }, [&] { return g_.allreduce(add, &one, &sum, 1); }));
    GRAPNEL_TRY(network_domain_row());
    GRAPNEL_TRY(computing_target_row(words));
    GRAPNEL_TRY(g_.destroy_lock_set(locks));
    GRAPNEL_TRY(g_.free(words));
    return g_.free(slots);
  }

 private:
  bool sends_rows() const { return index(g_.rank()) == 0; }

  Status try_all(Scene& scene) {
    const bool any = scene.between() == Between::nodes ? g_.node_count() > 1 : g_.node_count() < g_.size();
    if (!any) {
      const char* const why = scene.between() == Between::nodes ? "there is one node" : "no node has two ranks";
      if (sends_rows()) send_row({"operations", "all", to_string(scene.between()), Verdict::not_here, why});
      return {};
    }
    for (const TriedOperation& one : operations()) GRAPNEL_TRY(try_one(scene, one));
    return {};
  }

  Status try_one(Scene& scene, const TriedOperation& one) {
    const std::string size = one.bytes > 0 ? fmt::format(" {} B", one.bytes) : "";
    Row row{.section = "operations", .name = one.name + size, .where = to_string(scene.between())};
    steps_.begin(fmt::format("{}, {}", row.name, row.where), kOperation_s);
    scene.lay_ground();
    GRAPNEL_TRY(g_.barrier());
    Status mine = one.act(scene);
    if (mine.code() == Code::peer_dead) return mine;
    GRAPNEL_TRY(g_.barrier());
    if (mine.ok()) mine = look_at_slot(scene, one);
    GRAPNEL_TRY(collect(mine, row));
    row.found = row.verdict == Verdict::good ? way_of(scene, one) : row.found;
    if (row.verdict == Verdict::good) GRAPNEL_TRY(time_one(scene, one, row));
    if (sends_rows()) send_row(row);
    return g_.barrier();
  }

  Status look_at_slot(Scene& scene, const TriedOperation& one) const {
    Bytes expected(kSlotBytes);
    for (std::size_t i = 0; i < kSlotBytes; ++i) expected[i] = ground(g_.rank(), i);
    if (one.expect != nullptr && scene.origin()) one.expect(*scene.origin(), g_.rank(), expected.data());
    const std::string what = scene.origin()
                                 ? fmt::format("in its memory, which rank {} has written", index(*scene.origin()))
                                 : "in its memory, which no rank has written";
    return scene.compare(scene.own_slot(), expected.data(), kSlotBytes, what.c_str());
  }

  // Every rank learns the verdict, and the row gets the first rank's words.
  Status collect(const Status& mine, Row& row) {
    const std::string& text = mine.message();
    GRAPNEL_ASSIGN_OR_RETURN(const auto all, g_.allgather(g_.world(), std::as_bytes(std::span(text))));
    std::size_t wrong = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].empty()) continue;
      if (wrong++ == 0) {
        row.found = fmt::format("rank {}: {}", rank,
                                std::string_view(reinterpret_cast<const char*>(all[rank].data()), all[rank].size()));
      }
    }
    if (wrong == 0) return {};
    row.verdict = Verdict::wrong;
    row.found += wrong > 1 ? fmt::format(" (and {} more ranks)", wrong - 1) : "";
    row.remedy = kWrongRemedy;
    return {};
  }

  Status time_one(Scene& scene, const TriedOperation& one, Row& row) {
    const bool first = sends_rows() && scene.target();
    const bool partner = one.both_sides && scene.origin() == Rank{0};
    if (one.both_sides && (first || partner)) {
      GRAPNEL_ASSIGN_OR_RETURN(const Cost cost, measure_times(g_, kSharedTimes, [&] { return one.once(scene); }));
      if (first) judge(row, cost, {one.bytes, scene.between(), one.both_sides}, baseline_);
    } else if (first) {
      GRAPNEL_ASSIGN_OR_RETURN(const Cost cost, measure(g_, [&] { return one.once(scene); }));
      judge(row, cost, {one.bytes, scene.between(), one.both_sides}, baseline_);
    }
    return {};
  }

  // The last row of the table that begins at the operation's row length, or below.
  std::string way_of(const Scene& scene, const TriedOperation& one) const {
    if (scene.between() == Between::ranks_of_a_node) return "shared memory";
    std::string way = "messages";
    for (const auto& row : survey_.protocols.rows) {
      std::size_t from = 0;
      std::from_chars(row.from_row_bytes.data(), row.from_row_bytes.data() + row.from_row_bytes.size(), from);
      if (one.kind == nullptr || row.operation != one.kind || row.form != one.form || from > one.row_bytes) continue;
      way = row.way;
    }
    return way;
  }

  template <typename Try, typename Once>
  Status all_ranks(const char* name, Try try_it, Once once) {
    Row row{.section = "operations", .name = name, .where = "all ranks"};
    steps_.begin(name, kOperation_s);
    Status mine = try_it();
    if (mine.code() == Code::peer_dead) return mine;
    GRAPNEL_TRY(collect(mine, row));
    if (row.verdict == Verdict::good) {
      GRAPNEL_ASSIGN_OR_RETURN(const Cost cost, measure_times(g_, kSharedTimes, once));
      row.latency_us = cost.us;
      row.messages = cost.messages;
    }
    if (sends_rows()) send_row(row);
    return g_.barrier();
  }

  Status network_domain_row() {
    Row row{.section = "operations", .name = "atomics by adapters", .where = "all ranks"};
    steps_.begin(row.name, kOperation_s);
    const auto words = g_.allocate(sizeof(std::int64_t), AtomicDomain::network);
    if (words.status().code() == Code::peer_dead) return words.status();
    if (!words || g_.node_count() == 1) {  // the same in all ranks
      row.verdict = Verdict::not_here;
      row.found = words ? "there is one node" : words.status().message();
    } else {
      const Status mine = try_network_words(g_, *words);
      if (mine.code() == Code::peer_dead) return mine;
      GRAPNEL_TRY(collect(mine, row));
    }
    if (row.verdict == Verdict::good) {
      const auto once = [&] { return g_.fetch_and_add(words->on(Rank{0}), 1, Width::bits64, Rank{0}).status(); };
      GRAPNEL_ASSIGN_OR_RETURN(const Cost cost, measure_times(g_, kSharedTimes, once));
      row.latency_us = cost.us;
      row.messages = cost.messages;
    }
    if (sends_rows()) send_row(row);
    GRAPNEL_TRY(g_.barrier());
    return words ? g_.free(*words) : Status{};
  }

  Status computing_target_row(const Memory& words) {
    Row row{.section = "progress", .name = "a target that computes", .where = "all ranks"};
    if (g_.size() == 1) {
      row.verdict = Verdict::not_here, row.found = "there is one rank";
      send_row(row);
      return {};
    }
    steps_.begin(row.name, kCompute_s + kOperation_s);
    const auto took_us = try_computing_target(g_, words, kCompute_s);
    if (took_us.status().code() == Code::peer_dead) return took_us.status();
    GRAPNEL_TRY(collect(took_us.status(), row));
    std::vector<double> times(static_cast<std::size_t>(g_.size()));
    const double mine = took_us ? *took_us : 0;
    GRAPNEL_TRY(g_.allgather(&mine, times.data(), sizeof mine));
    if (row.verdict == Verdict::good) {
      row.found =
          fmt::format("rank {} called nothing until all others had put, got and counted in its memory: {:.0f} µs",
                      index(computing_target(g_)), *std::max_element(times.begin(), times.end()));
    } else {
      row.remedy =
          "its server got no processor: GRAPNEL_PROGRESS=adaptive or poll, no binding of all ranks to one "
          "processor (docs/progress.md)";
    }
    if (sends_rows()) send_row(row);
    return g_.barrier();
  }

  Runtime& g_;
  const Survey survey_;
  Steps& steps_;
  const Baseline baseline_;
};

Status run_job(const base::Config& config, Steps& steps) {
  GRAPNEL_ASSIGN_OR_RETURN(Survey found, survey(config, steps));
  if (!found.usable) return {};
  steps.begin("start of the runtime", kStart_s);
  GRAPNEL_ASSIGN_OR_RETURN(const auto runtime, Runtime::start());
  Checks checks(*runtime, std::move(found), steps);
  GRAPNEL_TRY(checks.run());
  steps.begin("end of the runtime", kFinish_s);
  return runtime->finish();
}

}  // namespace

int run_checks(double stretch) {
  Steps steps(stretch);
  const auto config = base::Config::from_environment(runtime::settings_groups());
  Status done = config ? run_job(*config, steps) : config.status();
  if (!done) {
    // Rank 0's words reach the table by its row; the others' by standard error.
    complain("grapnel selftest", done.to_string());
    return 1;
  }
  steps.end();
  if (steps.rank() == 0) send_line(Line::Kind::end);
  return 0;
}

}  // namespace grapnel::tool::selftest
