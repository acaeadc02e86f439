// The comparison with LAPACK must pass what is right and, above all, not pass what is wrong.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "input.hpp"
#include "kernels.hpp"
#include "report.hpp"
#include "verify.hpp"

namespace lu {
namespace {

struct Case {
  explicit Case(std::int64_t rows) : n(rows), original(Input::generated(n, 9).dense()), factors(original) {
    use_one_blas_thread();
    EXPECT_TRUE(factor_diagonal({factors.data(), n, n}));
  }
  Verdict verdict() const { return compare_with_lapack(n, factors, original); }
  std::int64_t n;
  std::vector<double> original, factors;
};

TEST(CompareWithLapack, PassesRightFactors) {
  for (const std::int64_t n : {1, 2, 3, 10, 120}) {
    const Verdict verdict = Case(n).verdict();
    EXPECT_TRUE(verdict.good) << n << ": " << verdict.why;
    EXPECT_LE(verdict.residual, 1) << n;
  }
}

TEST(CompareWithLapack, RefusesEveryElementThatIsOffByALittle) {
  const std::int64_t n = 24;
  for (std::int64_t at = 0; at < n * n; ++at) {
    Case wrong(n);
    wrong.factors[at] += 1e-9;
    const Verdict verdict = wrong.verdict();
    EXPECT_FALSE(verdict.good) << at;
    EXPECT_FALSE(verdict.why.empty());
  }
}

TEST(CompareWithLapack, RefusesNotANumber) {
  for (const std::size_t at : {0u, 5u, 143u}) {
    Case wrong(12);
    wrong.factors[at] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(wrong.verdict().good) << at;
  }
}

TEST(CompareWithLapack, RefusesAMatrixWhereLapackSwaps) {
  const std::vector<double> original = {1, 2, 3, 1};
  std::vector<double> factors = original;
  ASSERT_TRUE(factor_diagonal({factors.data(), 2, 2}));
  const Verdict verdict = compare_with_lapack(2, factors, original);
  EXPECT_FALSE(verdict.good);
  EXPECT_NE(verdict.why.find("swapped rows 1 and 2"), std::string::npos) << verdict.why;
}

TEST(Report, SumsByNameAndLeavesOutWhatDidNotOccur) {
  const Counts before = {{"get", 1, 10, 2, 20, 2}, {"put", 5, 50, 0, 0, 0}};
  const Counts after = {{"get", 1, 10, 5, 60, 7}, {"put", 5, 50, 0, 0, 0}};
  Counts sum = difference(after, before);
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum[0].operation, "get");
  EXPECT_EQ(sum[0].wire_messages, 5u);
  add(sum, after);
  ASSERT_EQ(sum.size(), 2u);
  EXPECT_EQ(sum[0].wire_bytes, 100u);
  EXPECT_EQ(sum[1].shared_bytes, 50u);
}

}  // namespace
}  // namespace lu
