// The command line.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "options.hpp"

namespace lu {
namespace {

ParsedArguments parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "lu");
  return parse_arguments(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, TakesWhatItOffers) {
  const auto parsed = parse({"--n", "100", "--block", "7", "--dist", "node", "--seed", "9", "--verify"});
  ASSERT_FALSE(parsed.exit) << parsed.exit->text;
  EXPECT_EQ(parsed.options.n, 100);
  EXPECT_EQ(parsed.options.block, 7);
  EXPECT_EQ(parsed.options.layout, Layout::node);
  EXPECT_EQ(parsed.options.seed, 9u);
  EXPECT_TRUE(parsed.options.verify);
}

TEST(Options, AFileBringsItsOwnSize) {
  EXPECT_EQ(parse({}).options.n, 1024);
  EXPECT_EQ(parse({"--matrix", "some.mtx"}).options.n, 0);
  EXPECT_EQ(parse({"--matrix", "some.mtx", "--n", "5"}).options.n, 5);
}

TEST(Options, RefusesWithCode2AndSaysWhy) {
  const std::vector<std::vector<const char*>> bad = {{"--n", "0"},
                                                     {"--n", "x"},
                                                     {"--n", "-4"},
                                                     {"--block", "0"},
                                                     {"--block", "9999"},
                                                     {"--dist", "diagonal"},
                                                     {"--seed", "-1"},
                                                     {"--seed", "x"},
                                                     {"--seed", "18446744073709551616"},
                                                     {"--matrix", ""},
                                                     {"stray"},
                                                     {"--unknown"},
                                                     {"--n", "5", "--n", "6"}};
  for (const auto& arguments : bad) {
    const auto parsed = parse(arguments);
    ASSERT_TRUE(parsed.exit) << arguments[0];
    EXPECT_EQ(parsed.exit->code, 2);
    EXPECT_EQ(parsed.exit->text.rfind("lu: ", 0), 0u) << parsed.exit->text;
    EXPECT_LT(parsed.exit->text.size(), 120u) << parsed.exit->text;
  }
}

TEST(Options, HelpIsNoError) {
  const auto parsed = parse({"--help"});
  ASSERT_TRUE(parsed.exit);
  EXPECT_EQ(parsed.exit->code, 0);
  EXPECT_NE(parsed.exit->text.find("--dist"), std::string::npos);
}

}  // namespace
}  // namespace lu
