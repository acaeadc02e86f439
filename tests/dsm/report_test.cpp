// The report of the shared heap: what it notes, its sentences, and its file.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "dsm/findings.hpp"
#include "dsm/random_programs.hpp"
#include "dsm/report_text.hpp"
#include "dsm/settings.hpp"
#include "dsm/small_heap.hpp"
#include "harness/foundation.hpp"
#include "harness/processes.hpp"

namespace grapnel::test {
namespace {

using dsm::NodeUse;
using dsm::PageUses;
using dsm::Pattern;
using dsm::Sharing;
using dsm::WordSet;

WordSet bytes(std::size_t first, std::size_t last) {
  WordSet words;
  for (std::size_t at = first; at <= last; at += WordSet::kWordBytes) words.add(at / WordSet::kWordBytes);
  return words;
}

// ---- what a rank notes ----

TEST(PageUses, AreByPageAndEra) {
  PageUses uses(8);
  uses.add_fetch(3);
  uses.add_fetch(3);
  uses.end_era();
  uses.add_write(3, bytes(0, 7));
  uses.add_write(3, bytes(64, 71));
  const auto noted = uses.noted();
  EXPECT_EQ(noted.eras, 1U);
  EXPECT_EQ(noted.shift, 0U);
  ASSERT_EQ(noted.uses.size(), 2U);
  EXPECT_EQ(noted.uses[0].fetches, 2U);
  EXPECT_EQ(noted.uses[0].writes, 0U);
  EXPECT_EQ(noted.uses[1].slice, 1U);
  EXPECT_EQ(noted.uses[1].writes, 2U);
  WordSet both = bytes(0, 7);
  both |= bytes(64, 71);
  EXPECT_EQ(noted.uses[1].words, both);
}

TEST(PageUses, ManyErasBecomeLongerSlices) {
  PageUses uses(8);
  for (std::size_t era = 0; era < 100; ++era) {
    uses.add_fetch(0);
    uses.add_fetch(era % 2 == 0 ? 1 : 2);
    uses.end_era();
  }
  const auto noted = uses.noted();
  EXPECT_EQ(noted.eras, 100U);
  EXPECT_EQ(noted.lost, 0U);
  EXPECT_LE(noted.uses.size(), 8U);
  EXPECT_GE(noted.shift, 5U);
  std::uint64_t fetches = 0;
  for (const dsm::PageUse& use : noted.uses) fetches += use.fetches;
  EXPECT_EQ(fetches, 200U);
}

TEST(PageUses, WhatFindsNoRoomIsCounted) {
  PageUses uses(8);
  for (std::size_t page = 0; page < 20; ++page) uses.add_fetch(page);
  for (int era = 0; era < 3; ++era) uses.end_era();
  const auto noted = uses.noted();
  EXPECT_EQ(noted.uses.size(), 8U);
  EXPECT_EQ(noted.lost, 12U);
  Sharing sharing;
  sharing.ranks = 2;
  sharing.add({noted, std::vector<std::uint32_t>(8, 1), {}, 5}, 0);
  EXPECT_EQ(dsm::gaps_of(sharing),
            "1 of 2 ranks are in it; 12 fetches and writes found no room: a rank notes 16384 pages and slices; "
            "5 blocks have no name: a rank keeps 4096");
}

TEST(Sharing, SlicesOfDifferentLengthsBecomeTheLonger) {
  PageUses often(8), rarely(8);
  for (int era = 0; era < 32; ++era) {
    often.add_fetch(1);
    if (era % 16 == 5) {
      rarely.add_write(1, bytes(0, 3));
      rarely.add_diffs(1, 1);
    }
    often.end_era();
    rarely.end_era();
  }
  const std::uint32_t shift = often.noted().shift;
  ASSERT_GT(shift, rarely.noted().shift);
  Sharing sharing;
  for (const PageUses* one : {&rarely, &often}) {
    const auto noted = one->noted();
    const dsm::RankSharing part{noted, std::vector<std::uint32_t>(noted.uses.size(), 2), {}, 0};
    const auto read = dsm::decode_sharing(dsm::encode(part), 10, 2);
    ASSERT_TRUE(read.has_value());
    sharing.add(*read, one == &often ? 1 : 0);
  }
  EXPECT_EQ(sharing.shift, shift);
  EXPECT_EQ(sharing.eras, 32U);
  const dsm::PageSharing& page = sharing.pages.at(1);
  EXPECT_EQ(page.home, 1U);
  EXPECT_EQ(page.fetches(), 32U);
  EXPECT_EQ(page.diffs(), 2U);
  EXPECT_EQ(page.slices.at(5 >> shift).at(0).writes + page.slices.at(21 >> shift).at(0).writes,
            5 >> shift == 21 >> shift ? 4U : 2U);
}

TEST(Sharing, AMalformedPartIsRefused) {
  PageUses uses(8);
  uses.add_fetch(9);
  const Bytes part = dsm::encode({uses.noted(), {2}, {{0, 100, "grid", "sor+0x10"}}, 0});
  EXPECT_TRUE(dsm::decode_sharing(part, 10, 2).has_value());
  EXPECT_FALSE(dsm::decode_sharing(part, 9, 2).has_value()) << "a page that the heap does not have";
  EXPECT_FALSE(dsm::decode_sharing(part, 10, 1).has_value()) << "a home that the job does not have";
  for (std::size_t length = 0; length < part.size(); ++length) {
    EXPECT_FALSE(dsm::decode_sharing(ByteView(part).first(length), 10, 2).has_value()) << length;
  }
}

// ---- its sentences ----

struct Write {
  std::uint32_t era, node;
  WordSet words;
};

Sharing sharing_of(const std::vector<Write>& writes, const std::vector<std::uint32_t>& readers,
                   std::uint32_t home = 0) {
  Sharing sharing;
  sharing.base = 0x100000000000;
  sharing.ranks = sharing.ranks_in = sharing.nodes = 3;
  sharing.blocks = {{0, 8 << 20, "grid", "main+0x1f0"}};
  dsm::PageSharing& page = sharing.pages[3];
  page.home = home;
  for (const Write& write : writes) {
    page.slices[write.era][write.node] += {0, 1, write.node == home ? 0U : 1U, write.words};
  }
  for (const std::uint32_t node : readers) page.slices[0][node].fetches += 600;
  return sharing;
}

void expect_finding(const Sharing& sharing, Pattern pattern, const std::string& sentence) {
  const auto findings = dsm::find(sharing);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].page, 3U);
  EXPECT_EQ(findings[0].pattern, pattern);
  EXPECT_EQ(findings[0].sentence,
            "page 0x100000003000, block 'grid' (8 MiB, allocated in main+0x1f0) +12,288: " + sentence);
}

TEST(Findings, LinesOfTwoNodesInOneEra) {
  expect_finding(sharing_of({{1, 0, bytes(0, 2047)}, {1, 1, bytes(2048, 4095)}}, {1, 1}), Pattern::false_sharing,
                 "node 0 writes lines 0–31, node 1 lines 32–63, in the same eras: false sharing; 1,200 fetches, "
                 "1 diff");
}

TEST(Findings, WordsOfOneLineInOneEra) {
  expect_finding(sharing_of({{1, 0, bytes(0, 7)}, {1, 1, bytes(8, 15)}, {1, 2, bytes(16, 23)}}, {1}),
                 Pattern::false_sharing,
                 "node 0 writes bytes 0–7, node 1 bytes 8–15, node 2 bytes 16–23, in the same eras: false sharing; "
                 "600 fetches, 2 diffs");
}

TEST(Findings, TheSameBytesInOneEra) {
  expect_finding(sharing_of({{1, 0, bytes(0, 7)}, {1, 1, bytes(0, 11)}}, {1}), Pattern::true_sharing,
                 "node 0 writes bytes 0–7, node 1 bytes 0–11, in the same eras: true sharing; 600 fetches, 1 diff");
}

TEST(Findings, TheSameBytesInTurn) {
  expect_finding(sharing_of({{1, 1, bytes(0, 7)}, {2, 2, bytes(0, 7)}, {3, 1, bytes(0, 7)}, {4, 2, bytes(0, 7)}}, {1}),
                 Pattern::true_sharing,
                 "node 1 writes bytes 0–7, node 2 bytes 0–7, in turn: true sharing; 600 fetches, 4 diffs");
}

// Of the blocks in the page, the one with the bytes that both write: not the one with more bytes.
TEST(Findings, TrueSharingNamesTheBlockThatIsShared) {
  WordSet first = bytes(0, 7), second = bytes(8, 15);
  first |= bytes(64, 67);
  second |= bytes(64, 67);
  Sharing sharing = sharing_of({{1, 0, first}, {1, 1, second}}, {1});
  sharing.blocks = {{3 * kPage, 48, "counters", ""}, {3 * kPage + 64, 4, "next", ""}};
  const auto findings = dsm::find(sharing);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(
      findings[0].sentence,
      "page 0x100000003000, block 'next' (4 bytes) and 1 more: node 0 writes bytes 0–7, 64–67, node 1 bytes 8–15, "
      "64–67, in the same eras: true sharing; 600 fetches, 1 diff");
}

TEST(Findings, OtherLinesInTurn) {
  expect_finding(sharing_of({{1, 1, bytes(0, 7)}, {2, 2, bytes(64, 71)}}, {1}), Pattern::false_sharing,
                 "node 1 writes lines 0, node 2 lines 1, in turn: false sharing; 600 fetches, 2 diffs");
}

TEST(Findings, OneWriterThatIsNotTheHome) {
  // What the home wrote at the beginning does not count.
  expect_finding(
      sharing_of({{0, 0, bytes(0, 4095)}, {1, 1, bytes(0, 511)}, {2, 1, bytes(0, 511)}, {3, 1, bytes(0, 511)}}, {1}),
      Pattern::wrong_home, "node 1 alone writes lines 0–7, node 0 is its home: wrong home; 600 fetches, 3 diffs");
}

TEST(Findings, OneWriterAndReaders) {
  expect_finding(sharing_of({{1, 0, bytes(0, 63)}}, {1, 2}), Pattern::read_by_many,
                 "node 0, its home, writes lines 0, nodes 1 and 2 fetch it: read by many; 1,200 fetches, 0 diffs");
  expect_finding(sharing_of({}, {2}), Pattern::read_by_one,
                 "no node wrote it after the first fetch, node 2 fetches it: read by one; 600 fetches, 0 diffs");
}

TEST(Findings, TheMostExpensivePagesComeFirst) {
  Sharing sharing;
  for (std::uint32_t page = 0; page < 50; ++page) sharing.pages[page].slices[0][1].fetches = page % 30;
  const auto findings = dsm::find(sharing);
  ASSERT_EQ(findings.size(), dsm::kMostFindings);
  EXPECT_EQ(findings[0].page, 29U);
  EXPECT_EQ(findings[1].page, 28U);
  EXPECT_EQ(findings.back().fetches, 15U);
}

// ---- the file ----

constexpr std::size_t kFar = 40 * kPage;  // no read-ahead brings it along

// Ranks 1 and 2 write the same page, rank 0 another one that rank 1 reads.
HEAP_TEST_ON(ReportBody, Shares, (std::vector<Shape>{{3, 3}})) {
  SmallHeap h(g);
  if (h.me() == 0) {
    ASSERT_TRUE(h.heap().allocate(64 * kPage, "grid").ok());
    ASSERT_TRUE(h.heap().allocate(24, "count\"ers").ok());
    h.set(0, 100);  // no value of a round: a write of what was there is no diff
    h.set(kFar, 100);
  }
  h.barrier();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    if (h.me() > 0) h.set(64 * static_cast<std::size_t>(h.me() - 1), round);
    if (h.me() == 1) static_cast<void>(h.get(kFar));
    h.barrier();
    if (h.me() == 0) h.set(kFar + 128, round);
    h.barrier();
  }
}

// `finding`, `page`: of page 40. `home`: of page 0.
std::string expected(const std::string& finding, const std::string& home, const std::string& page) {
  return R"({
  "format": "grapnel shared heap report",
  "version": 1,
  "ranks": 3,
  "nodes": 3,
  "base": "0x100000000000",
  "page_bytes": 4096,
  "line_bytes": 64,
  "eras": 7,
  "eras_per_slice": 1,
  "gaps": null,
  "findings": [
    {"page":0,"kind":"false_sharing","fetches":6,"diffs":6,"sentence":"page 0x100000000000, block 'grid' (256 KiB, allocated in dsm_report_test+0x): node 1 writes lines 0, node 2 lines 1, in the same eras: false sharing; 6 fetches, 6 diffs"},
)" + finding +
         R"(
  ],
  "blocks": [
    {"offset":0,"bytes":262144,"name":"grid","allocated_in":"dsm_report_test+0x"},
    {"offset":262160,"bytes":24,"name":"count\"ers","allocated_in":"dsm_report_test+0x"}
  ],
  "pages": [
    {"page":0,"home":)" +
         home +
         R"(,"uses":[{"era":1,"node":1,"fetches":1,"writes":1,"diffs":1,"lines":[[0,0]]},{"era":1,"node":2,"fetches":1,"writes":1,"diffs":1,"lines":[[1,1]]},{"era":3,"node":1,"fetches":1,"writes":1,"diffs":1,"lines":[[0,0]]},{"era":3,"node":2,"fetches":1,"writes":1,"diffs":1,"lines":[[1,1]]},{"era":5,"node":1,"fetches":1,"writes":1,"diffs":1,"lines":[[0,0]]},{"era":5,"node":2,"fetches":1,"writes":1,"diffs":1,"lines":[[1,1]]}]},
)" + page +
         R"(
  ]
}
)";
}

std::string expected_of_hlrc() {
  return expected(
      R"(    {"page":40,"kind":"read_by_one","fetches":3,"diffs":0,"sentence":"page 0x100000028000, block 'grid' (256 KiB, allocated in dsm_report_test+0x) +163,840: node 0, its home, writes lines 2, node 1 fetches it: read by one; 3 fetches, 0 diffs"})",
      "0",
      R"(    {"page":40,"home":0,"uses":[{"era":1,"node":1,"fetches":1,"writes":0,"diffs":0,"lines":[]},{"era":2,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]},{"era":3,"node":1,"fetches":1,"writes":0,"diffs":0,"lines":[]},{"era":4,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]},{"era":5,"node":1,"fetches":1,"writes":0,"diffs":0,"lines":[]},{"era":6,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]}]})");
}

// No page has a home, so that each fetch brings a diff of the writer's.
std::string expected_of_lrc() {
  return expected(
      R"(    {"page":40,"kind":"read_by_one","fetches":3,"diffs":3,"sentence":"page 0x100000028000, block 'grid' (256 KiB, allocated in dsm_report_test+0x) +163,840: node 0 writes lines 2, node 1 fetches it: read by one; 3 fetches, 3 diffs"})",
      "null",
      R"(    {"page":40,"home":null,"uses":[{"era":1,"node":1,"fetches":1,"writes":0,"diffs":1,"lines":[]},{"era":2,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]},{"era":3,"node":1,"fetches":1,"writes":0,"diffs":1,"lines":[]},{"era":4,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]},{"era":5,"node":1,"fetches":1,"writes":0,"diffs":1,"lines":[]},{"era":6,"node":0,"fetches":0,"writes":1,"diffs":0,"lines":[[2,2]]}]})");
}

class ReportFile : public ::testing::Test {
 protected:
  ReportFile() : path_(std::filesystem::temp_directory_path() / ("grapnel-report-" + std::to_string(::getpid()))) {}
  ~ReportFile() override { std::filesystem::remove(path_); }
  std::string content() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return comparable(text.str());
  }
  /// Without the offsets of code; with the first of the addresses that the heap may have.
  static std::string comparable(const std::string& text) {
    const std::string placed = std::regex_replace(text, std::regex("0x(10|18|28|30|38|40)(0000[0-9a-f]{6})"), "0x10$2");
    return std::regex_replace(placed, std::regex(R"(\+0x[0-9a-f]+)"), "+0x");
  }
  const std::filesystem::path path_;
};

void run_in_sim(Shape shape, std::uint64_t seed, const std::string& file, const std::function<void(Runtime&)>& body) {
  sim::WorldOptions options{.ranks = shape.ranks, .nodes = shape.nodes};
  options.seed(seed);
  const auto outcome = sim::run_world(options, [&](sim::RankWorld& me) {
    auto foundation = foundation_of(me);
    // Rank 0's setting is all ranks'.
    if (index(me.rank) == 0) foundation.config.change<dsm::Settings>().report = file;
    auto started = runtime::assemble(std::move(foundation));
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    body(**started);
    EXPECT_OK((*started)->finish());
  });
  EXPECT_TRUE(outcome.ok()) << outcome.report;
}

TEST_F(ReportFile, IsExactInSim) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    run_in_sim({3, 3}, seed, path_, world_body_ReportBody_Shares);
    ASSERT_EQ(content(), expected_of_hlrc()) << "seed " << seed;
    run_in_sim({3, 3}, seed, path_, world_body_ReportBodyLrc_Shares);
    ASSERT_EQ(content(), expected_of_lrc()) << "seed " << seed;
  }
}

// Twins of home pages are taken while diffs and fetches come.
TEST_F(ReportFile, DoesNotChangeWhatProgramsRead) {
  for (const auto protocol : {dsm::ProtocolChoice::hlrc, dsm::ProtocolChoice::lrc}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      run_in_sim({5, 2}, seed, path_, [&](Runtime& g) {
        heap_settings = {.protocol = protocol};
        EXPECT_EQ(random_programs::play(g, seed), "");
      });
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " with protocol " << static_cast<int>(protocol);
    }
  }
}

TEST_F(ReportFile, IsExactInNodes) {
  struct Case {
    const char *trap, *body;
    std::string expected;
  };
  for (const auto& [trap, body, expected] : {Case{"auto", "ReportBody.Shares", expected_of_hlrc()},
                                             Case{"mprotect", "ReportBody.Shares", expected_of_hlrc()},
                                             Case{"auto", "ReportBodyLrc.Shares", expected_of_lrc()},
                                             Case{"mprotect", "ReportBodyLrc.Shares", expected_of_lrc()}}) {
    const ProcessOutcome outcome =
        run_job({3, 3}, {{"GRAPNEL_TEST_BODY", body}, {"GRAPNEL_DSM_TRAP", trap}, {"GRAPNEL_DSM_REPORT", path_}},
                {"/proc/self/exe"}, std::chrono::seconds(60));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(content(), expected) << body << " with " << trap;
    const std::string said = comparable(outcome.output);
    EXPECT_NE(said.find("shared heap: the 2 most expensive pages of "), std::string::npos) << said;
    EXPECT_NE(said.find("  page 0x100000000000, block 'grid' (256 KiB, allocated in dsm_report_test+0x): node 1 "),
              std::string::npos)
        << said;
  }
}

TEST_F(ReportFile, ThatCannotBeWrittenIsAnErrorOfAllRanksAtTheStart) {
  run_in_sim({3, 3}, 1, "/nowhere/report.json", [](Runtime& g) {
    const auto opened = g.open_shared_heap({.bytes = 2 << 20, .locks = 16});
    EXPECT_EQ(opened.status().code(), Code::system);
    EXPECT_EQ(opened.status().message(),
              "GRAPNEL_DSM_REPORT=\"/nowhere/report.json\" cannot be written: No such file or directory; name a file "
              "that can be");
  });
}

}  // namespace
}  // namespace grapnel::test
