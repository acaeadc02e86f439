// The judge: medians, bars, and what is printed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "again.hpp"
#include "bars.hpp"
#include "measurement.hpp"
#include "report.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

Measurement measured(double value, std::optional<double> limit, Better better = Better::lower) {
  return {.name = "a/b", .unit = "ns", .better = better, .value = value, .limit = limit, .runs = 31, .p99 = 9.5};
}

TEST(Statistics, TheMiddlePairIsOneThatWasMeasured) {
  const std::vector<Pair> pairs = {{10, 30}, {1, 2}, {10, 10}};
  EXPECT_EQ(middle_pair(pairs, Compare::ratio).ours, 2);
  EXPECT_EQ(middle_pair(pairs, Compare::difference).ours, 2);
  const std::vector<Pair> differ = {{1, 4}, {10, 20}, {100, 110}};  // ratios 4, 2, 1.1; differences 3, 10, 10
  EXPECT_EQ(middle_pair(differ, Compare::ratio).ours, 20);
  EXPECT_NE(middle_pair(differ, Compare::difference).ours, 4);
}

TEST(Statistics, Percentiles) {
  EXPECT_EQ(percentile({5}, 0.99), 5);
  EXPECT_EQ(median({3, 1, 2}), 2);
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 1), 100);
}

TEST(Measurement, SurvivesItsLine) {
  Measurement m = measured(1.25, std::nullopt, Better::higher);
  m.note = "memcpy";
  const auto back = from_line(to_line(m));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_line(*back), to_line(m));
  EXPECT_FALSE(back->limit);
  EXPECT_EQ(back->p99, 9.5);
}

TEST(Measurement, OtherLinesAreNone) {
  for (const char* line : {"", "hello", "grapnel-bench-row\ta", "grapnel-bench-row\ta\tns\tlower\tx\t1\t2\t3\t0\t"}) {
    EXPECT_FALSE(from_line(line)) << line;
  }
}

TEST(Bars, ReadsItsScenarioOnly) {
  const auto bars = read_bars("[rma]\n\"a/*\" = { ratio_max = 2 }\n[sync]\nb = { value_max = 1.5 }\n", "rma");
  ASSERT_TRUE(bars.ok()) << bars.status().to_string();
  ASSERT_EQ(bars->size(), 1u);
  EXPECT_EQ((*bars)[0].kind, Bar::Kind::ratio_max);
  EXPECT_EQ((*bars)[0].bound, 2);
  EXPECT_EQ(*find_bar(*bars, "a/b/c"), &(*bars)[0]);
  EXPECT_EQ(*find_bar(*bars, "b"), nullptr);
}

TEST(Bars, RefusesAnythingElse) {
  for (const char* text : {"a = 1", "[rma]\na = 1", "[rma]\na = { ratio = 1 }", "[rma]\na = { ratio_max = \"1\" }",
                           "[rma]\na = { ratio_max = 1, value_max = 2 }", "[rma\n", "[rma]\na = {}"}) {
    EXPECT_EQ(read_bars(text, "rma").status().code(), Code::invalid_argument) << text;
  }
}

TEST(Bars, TwoForOneRowAreAMistake) {
  const auto bars = read_bars("[rma]\n\"a/*\" = { ratio_max = 2 }\n\"a/b\" = { ratio_max = 3 }\n", "rma");
  ASSERT_TRUE(bars.ok());
  EXPECT_FALSE(find_bar(*bars, "a/b").ok());
  EXPECT_TRUE(find_bar(*bars, "a/c").ok());
}

TEST(Bars, EveryKindBecomesABoundOfTheRatio) {
  const auto pass = [](const Measurement& m, Bar::Kind kind, double bound) {
    const Bar bar{"a/b", kind, bound};
    const auto row = judge(m, &bar);
    EXPECT_TRUE(row.ok()) << row.status().to_string();
    const bool by_ratio = m.better == Better::lower ? row->ratio <= *row->bar : row->ratio >= *row->bar;
    EXPECT_EQ(by_ratio, row->pass);
    return row->pass;
  };
  EXPECT_TRUE(pass(measured(8, 2), Bar::Kind::over_limit_ns, 6));
  EXPECT_FALSE(pass(measured(8.1, 2), Bar::Kind::over_limit_ns, 6));
  EXPECT_TRUE(pass(measured(12, 10), Bar::Kind::ratio_max, 1.25));
  EXPECT_FALSE(pass(measured(13, 10), Bar::Kind::ratio_max, 1.25));
  EXPECT_TRUE(pass(measured(9.6, 10, Better::higher), Bar::Kind::ratio_min, 0.95));
  EXPECT_FALSE(pass(measured(9, 10, Better::higher), Bar::Kind::ratio_min, 0.95));
  EXPECT_TRUE(pass(measured(0.4, std::nullopt), Bar::Kind::value_max, 1));
  EXPECT_TRUE(pass(measured(-0.4, std::nullopt), Bar::Kind::value_max, 1));
  EXPECT_FALSE(pass(measured(1.1, std::nullopt), Bar::Kind::value_max, 1));
  EXPECT_TRUE(pass(measured(0, std::nullopt), Bar::Kind::value_max, 0));
  EXPECT_FALSE(pass(measured(1, std::nullopt), Bar::Kind::value_max, 0));
}

TEST(Bars, ARowWithoutABarDoesNotPass) { EXPECT_FALSE(judge(measured(1, 1), nullptr)->pass); }

TEST(Bars, ARowWhoseLimitWasDisturbedDoesNotPass) {
  const Bar bar{"a/b", Bar::Kind::ratio_max, 1.5};
  Measurement m = measured(1, 1);
  EXPECT_TRUE(judge(m, &bar)->pass);
  m.disturbed = true;
  EXPECT_FALSE(judge(*from_line(to_line(m)), &bar)->pass);
}

TEST(Bars, ABarMustFitItsRow) {
  const Bar ratio{"a/b", Bar::Kind::ratio_max, 1}, value{"a/b", Bar::Kind::value_max, 1};
  EXPECT_FALSE(judge(measured(1, std::nullopt), &ratio).ok());
  EXPECT_FALSE(judge(measured(1, 1), &value).ok());
  EXPECT_FALSE(judge(measured(1, 1, Better::higher), &ratio).ok());
  Measurement m = measured(1, 1);
  m.unit = "us";
  const Bar over{"a/b", Bar::Kind::over_limit_ns, 6};
  EXPECT_FALSE(judge(m, &over).ok());
}

Row row_of(const std::string& name, double value, bool disturbed) {
  Row row;
  row.measured = measured(value, 1);
  row.measured.name = name;
  row.measured.disturbed = disturbed;
  return row;
}

// "a/b" is part of "a/b/c", which falls short but was not disturbed: it stays as it is.
TEST(Again, OnlyWhatWasDisturbed) {
  std::vector<Row> rows = {row_of("a/b", 1, true), row_of("a/b/c", 9, false), row_of("d", 2, true)};
  std::vector<std::string> filters;
  const bool well = measure_disturbed_again(rows, [&](const std::string& filter, const auto& on_row) {
    filters.push_back(filter);
    if (filter == "a/b") on_row(row_of("a/b/c", 3, false));
    on_row(row_of(filter, 5, filter == "d"));
    return true;
  });
  EXPECT_TRUE(well);
  EXPECT_EQ(filters, (std::vector<std::string>{"a/b", "d", "d"}));  // "d" is disturbed each time: two rounds, no more
  EXPECT_EQ(rows[0].measured.value, 5);
  EXPECT_EQ(rows[1].measured.value, 9);
  EXPECT_TRUE(rows[2].measured.disturbed);
}

TEST(Again, NothingWhereTheMachineIsDisturbedThroughout) {
  std::vector<Row> rows(kMostAgain + 1, row_of("a", 1, true));
  EXPECT_TRUE(measure_disturbed_again(rows, [](const std::string&, const auto&) { return ADD_FAILURE(), false; }));
}

TEST(Again, AJobThatFailsIsSaid) {
  std::vector<Row> rows = {row_of("a", 1, true)};
  EXPECT_FALSE(measure_disturbed_again(rows, [](const std::string&, const auto&) { return false; }));
  EXPECT_EQ(rows[0].measured.value, 1);
}

TEST(Report, Json) {
  const Bar bar{"a/b", Bar::Kind::ratio_max, 1.5};
  EXPECT_EQ(to_json("rma", {*judge(measured(3, 2), &bar), *judge(measured(3, 2), nullptr)}, {{"c/d", "no \"lab\""}}),
            "{\"schema\":1,\"rows\":[\n"
            "{\"scenario\":\"rma\",\"name\":\"a/b\",\"value\":3,\"unit\":\"ns\",\"better\":\"lower\",\"limit\":2,"
            "\"ratio\":1.5,\"bar\":1.5,\"pass\":true,\"runs\":31,\"p99\":9.5,\"disturbed\":false,\"note\":\"\"},\n"
            "{\"scenario\":\"rma\",\"name\":\"a/b\",\"value\":3,\"unit\":\"ns\",\"better\":\"lower\",\"limit\":2,"
            "\"ratio\":1.5,\"bar\":null,\"pass\":false,\"runs\":31,\"p99\":9.5,\"disturbed\":false,\"note\":\"\"}\n"
            "],\"skipped\":[\n{\"name\":\"c/d\",\"why\":\"no \\\"lab\\\"\"}\n]}\n");
}

TEST(Report, ALimitThatThereIsNotIsNull) {
  const Bar none{"a/b", Bar::Kind::none, 0}, value{"a/b", Bar::Kind::value_max, 4};
  EXPECT_NE(to_json("locks", {*judge(measured(3, std::nullopt), &none)}, {}).find("\"limit\":null,\"ratio\":null"),
            std::string::npos);
  EXPECT_NE(to_json("locks", {*judge(measured(3, std::nullopt), &value)}, {}).find("\"limit\":4,\"ratio\":0.75"),
            std::string::npos);
}

}  // namespace
}  // namespace grapnel::bench
