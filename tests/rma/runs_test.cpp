// The short form of where pieces belong: read back, as short as promised, and refused where it is no run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "rma/internal/runs.hpp"

namespace grapnel::rma {
namespace {

constexpr std::uint64_t kBase = 0x7f00'0000'0000;

std::size_t bytes_of_runs(const std::vector<VectorRun>& runs) {
  RunWriter writer;
  writer.start(runs.front().address);
  std::uint64_t data = 0;
  for (const VectorRun& run : runs) {
    EXPECT_TRUE(writer.reaches(run.address));
    writer.add(run);
    data += run.bytes;
  }
  EXPECT_LT(writer.view().size(), RunWriter::kMostGapBytes * data);
  RunReader reader(writer.view(), runs.front().address);
  VectorRun read;
  for (const VectorRun& run : runs) {
    EXPECT_TRUE(reader.next(read));
    EXPECT_EQ(read.address, run.address);
    EXPECT_EQ(read.bytes, run.bytes);
  }
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.next(read));
  return writer.view().size();
}

TEST(Runs, NearOnesOfOneLengthTakeAByte) {
  std::vector<VectorRun> runs;
  for (std::uint64_t i = 0; i < 1000; ++i) runs.push_back({kBase + 16 * i, 8});
  EXPECT_EQ(bytes_of_runs(runs), 1001u);
}

TEST(Runs, FarOnesTakeSevenBytes) {
  std::vector<VectorRun> runs;
  for (std::uint64_t i = 0; i < 1000; ++i) runs.push_back({kBase + (i % 2 << 46) + i, 1});
  EXPECT_EQ(bytes_of_runs(runs), 1000 * 7u - 5);
}

TEST(Runs, LongFarOnesTakeTenBytes) {
  std::vector<VectorRun> runs;
  for (std::uint64_t i = 0; i < 1000; ++i) runs.push_back({kBase + (i % 2 << 46), 65536 - i % 2});
  EXPECT_EQ(bytes_of_runs(runs), 1000 * 10u - 6);
}

TEST(Runs, AnyMixtureReadsBack) {
  base::Random random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<VectorRun> runs;
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t most = std::uint64_t{1} << random.below(17);
      runs.push_back({kBase + random.below(std::uint64_t{1} << random.between(1, 46)), 1 + random.below(most)});
    }
    bytes_of_runs(runs);
  }
}

TEST(Runs, ReachAsFarAsAGapHolds) {
  RunWriter writer;
  writer.start(kBase);
  EXPECT_TRUE(writer.reaches(kBase + (std::uint64_t{1} << 47) - 1));
  EXPECT_FALSE(writer.reaches(kBase + (std::uint64_t{1} << 47)));
  EXPECT_TRUE(writer.reaches(kBase - (std::uint64_t{1} << 47)));
  EXPECT_FALSE(writer.reaches(kBase - (std::uint64_t{1} << 47) - 1));
}

TEST(Runs, RefusesWhatIsNone) {
  const auto refused = [](const std::vector<int>& bytes) {
    Bytes in;
    for (const int byte : bytes) in.push_back(static_cast<std::byte>(byte));
    VectorRun run;
    return !RunReader(in, kBase).next(run);
  };
  EXPECT_FALSE(refused({3, 17}));  // no gap, 8 bytes
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({1}));           // the length of the run before the first
  EXPECT_TRUE(refused({3}));           // without its length
  EXPECT_TRUE(refused({3, 1}));        // of length 0
  EXPECT_TRUE(refused({3, 2}));        // a length cut off
  EXPECT_TRUE(refused({3, 70, 0}));    // a length longer than needed
  EXPECT_TRUE(refused({6, 0, 17}));    // a gap longer than needed
  EXPECT_TRUE(refused({0, 0, 0, 0}));  // a gap without an end
}

}  // namespace
}  // namespace grapnel::rma
