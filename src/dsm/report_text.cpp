// SPDX-License-Identifier: Apache-2.0
#include "dsm/report_text.hpp"

#include <fmt/format.h>

#include "dsm/diff.hpp"
#include "dsm/report.hpp"

namespace grapnel::dsm {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Elements of a list, one a line.
class List {
 public:
  void add(const std::string& element) { text_ += (text_.empty() ? "\n    " : ",\n    ") + element; }
  std::string text() const { return text_.empty() ? "[]" : "[" + text_ + "\n  ]"; }

 private:
  std::string text_;
};

// Runs of lines that have words of the set: [[first, last], …].
std::string line_runs(const WordSet& words) {
  constexpr std::size_t kPerLine = kLineBytes / WordSet::kWordBytes;
  std::string text;
  std::size_t first = 0;
  bool in_run = false;
  for (std::size_t line = 0; line <= kLines; ++line) {
    bool written = false;
    for (std::size_t i = 0; line < kLines && i < kPerLine; ++i) written = written || words.has(line * kPerLine + i);
    if (written && !in_run) first = line;
    if (!written && in_run) text += fmt::format("{}[{},{}]", text.empty() ? "" : ",", first, line - 1);
    in_run = written;
  }
  return "[" + text + "]";
}

std::string uses_of(const Sharing& sharing, const PageSharing& page) {
  std::string text;
  for (const auto& [slice, nodes] : page.slices) {
    for (const auto& [node, use] : nodes) {
      text += fmt::format(R"({}{{"era":{},"node":{},"fetches":{},"writes":{},"diffs":{},"lines":{}}})",
                          text.empty() ? "" : ",", std::uint64_t{slice} << sharing.shift, node, use.fetches, use.writes,
                          use.diffs, line_runs(use.words));
    }
  }
  return "[" + text + "]";
}

List blocks_of(const Sharing& sharing) {
  List list;
  for (const NamedBlock& block : sharing.blocks) {
    list.add(fmt::format(R"({{"offset":{},"bytes":{},"name":{},"allocated_in":{}}})", block.offset, block.bytes,
                         quoted(block.name), quoted(block.place)));
  }
  return list;
}

List pages_of(const Sharing& sharing) {
  List list;
  for (const auto& [number, page] : sharing.pages) {
    list.add(fmt::format(R"({{"page":{},"home":{},"uses":{}}})", number,
                         page.home ? std::to_string(*page.home) : "null", uses_of(sharing, page)));
  }
  return list;
}

List findings_of(const std::vector<Finding>& findings) {
  List list;
  for (const Finding& one : findings) {
    list.add(fmt::format(R"({{"page":{},"kind":"{}","fetches":{},"diffs":{},"sentence":{}}})", one.page,
                         name_of(one.pattern), one.fetches, one.diffs, quoted(one.sentence)));
  }
  return list;
}

}  // namespace

std::string gaps_of(const Sharing& sharing) {
  std::string text;
  const auto add = [&](const std::string& gap) { text += (text.empty() ? "" : "; ") + gap; };
  if (sharing.ranks_in < sharing.ranks) add(fmt::format("{} of {} ranks are in it", sharing.ranks_in, sharing.ranks));
  if (sharing.lost > 0) {
    add(fmt::format("{} fetches and writes found no room: a rank notes {} pages and slices", sharing.lost,
                    PageUses::kMostUses));
  }
  if (sharing.lost_blocks > 0) {
    add(fmt::format("{} blocks have no name: a rank keeps {}", sharing.lost_blocks, Report::kMostBlocks));
  }
  return text;
}

std::string json_of(const Sharing& sharing, const std::vector<Finding>& findings) {
  const std::string gaps = gaps_of(sharing);
  return fmt::format(R"({{
  "format": "grapnel shared heap report",
  "version": 1,
  "ranks": {},
  "nodes": {},
  "base": "{:#x}",
  "page_bytes": {},
  "line_bytes": {},
  "eras": {},
  "eras_per_slice": {},
  "gaps": {},
  "findings": {},
  "blocks": {},
  "pages": {}
}}
)",
                     sharing.ranks, sharing.nodes, sharing.base, os::kPageBytes, kLineBytes, sharing.eras,
                     std::uint64_t{1} << sharing.shift, gaps.empty() ? "null" : quoted(gaps),
                     findings_of(findings).text(), blocks_of(sharing).text(), pages_of(sharing).text());
}

std::string sentences_of(const Sharing& sharing, const std::vector<Finding>& findings, const std::string& file) {
  const std::string gaps = gaps_of(sharing);
  if (findings.empty()) {
    return fmt::format("shared heap: no page was fetched from another node; the report is in {}\n", file);
  }
  std::uint64_t fetches = 0, diffs = 0;
  for (const auto& [number, page] : sharing.pages) fetches += page.fetches(), diffs += page.diffs();
  std::string text =
      fmt::format("shared heap: the {} most expensive pages of {} fetches and {} diffs; the whole report is in {}{}\n",
                  findings.size(), fetches, diffs, file, gaps.empty() ? "" : " (" + gaps + ")");
  for (const Finding& one : findings) text += "  " + one.sentence + "\n";
  return text;
}

}  // namespace grapnel::dsm
