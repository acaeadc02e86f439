// SPDX-License-Identifier: Apache-2.0
#include "dsm/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/units.hpp"
#include "dsm/diff.hpp"

namespace grapnel::dsm {
namespace {

using Words = std::map<std::uint32_t, WordSet>;  ///< by node

/// A page's uses in all slices.
struct Summary {
  std::set<std::uint32_t> readers;                 ///< nodes that fetched it
  std::map<std::uint32_t, std::uint64_t> writers;  ///< slices in which the node wrote it
  std::uint64_t write_slices = 0;                  ///< in which a node wrote it
  std::uint64_t apart = 0, together = 0;           ///< … several did: different words, the same words
  Words all, of_apart, of_together;                ///< words written: ever; in those slices
};

bool meet(const Words& written) {
  for (auto one = written.begin(); one != written.end(); ++one) {
    for (auto other = std::next(one); other != written.end(); ++other) {
      if (one->second.meets(other->second)) return true;
    }
  }
  return false;
}

void add_words(Words& into, const Words& from) {
  for (const auto& [node, words] : from) into[node] |= words;
}

WordSet all_words(const Words& written) {
  WordSet all;
  for (const auto& [node, words] : written) all |= words;
  return all;
}

/// Words that more than one node wrote.
WordSet common_words(const Words& written) {
  WordSet before, common;
  for (const auto& [node, words] : written) {
    WordSet again = words;
    again &= before;
    common |= again;
    before |= words;
  }
  return common;
}

Summary summarize(const PageSharing& page) {
  Summary summary;
  for (const auto& [slice, nodes] : page.slices) {
    Words written;
    for (const auto& [node, use] : nodes) {
      if (use.fetches > 0) summary.readers.insert(node);
      if (use.writes == 0) continue;
      written[node] = use.words;
      ++summary.writers[node];
    }
    add_words(summary.all, written);
    if (!written.empty()) ++summary.write_slices;
    if (written.size() < 2) continue;
    const bool same = meet(written);
    ++(same ? summary.together : summary.apart);
    add_words(same ? summary.of_together : summary.of_apart, written);
  }
  return summary;
}

/// "1,200"
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string counted(std::uint64_t number, const char* one, const char* more) {
  return fmt::format("{} {}", grouped(number), number == 1 ? one : more);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= base::kMiB && bytes % (base::kMiB / 4) == 0) {
    return fmt::format("{} MiB", static_cast<double>(bytes) / static_cast<double>(base::kMiB));
  }
  if (bytes >= base::kKiB && bytes % base::kKiB == 0) return grouped(bytes / base::kKiB) + " KiB";
  return counted(bytes, "byte", "bytes");
}

/// Of `unit` bytes each, that have words of the set: at most three runs.
std::string ranges(const WordSet& words, std::size_t unit) {
  const std::size_t per_unit = std::max<std::size_t>(unit / WordSet::kWordBytes, 1);
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t word = 0; word < WordSet::kWords; ++word) {
    if (!words.has(word)) continue;
    const std::size_t first = word / per_unit;
    if (runs.empty() || runs.back().second + 1 < first) runs.push_back({first, first});
    runs.back().second = first;
  }
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kShown); ++i) {
    auto [first, last] = runs[i];
    if (unit == 1) first *= WordSet::kWordBytes, last = last * WordSet::kWordBytes + WordSet::kWordBytes - 1;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", first);
    if (last != first) text += fmt::format("–{}", last);
  }
  if (runs.size() > kShown) text += fmt::format(" and {}", counted(runs.size() - kShown, "more run", "more runs"));
  return text;
}

/// "node 0", "nodes 0, 1 and 2": at most six are named.
template <typename Nodes, typename NodeOf>
std::string list_of(const Nodes& nodes, NodeOf node_of) {
  constexpr std::size_t kShown = 6;
  std::string text = nodes.size() == 1 ? "node " : "nodes ";
  std::size_t done = 0;
  for (const auto& node : nodes) {
    if (done == kShown) return text + fmt::format(" and {} more", nodes.size() - kShown);
    const bool is_last = done + 1 == nodes.size();
    text += fmt::format("{}{}", done == 0 ? "" : (is_last ? " and " : ", "), node_of(node));
    ++done;
  }
  return text;
}
std::string nodes_text(const std::set<std::uint32_t>& nodes) {
  return list_of(nodes, [](std::uint32_t node) { return node; });
}

/// "node 0 writes lines 0–31, node 1 lines 32–63": bytes, where the nodes' lines are the same.
std::string writers_text(const Words& written) {
  constexpr std::size_t kShown = 4;
  std::vector<std::uint64_t> lines;
  bool by_line = true;
  for (const auto& [node, words] : written) {
    std::uint64_t mine = 0;
    for (std::size_t word = 0; word < WordSet::kWords; ++word) {
      if (words.has(word)) mine |= std::uint64_t{1} << (word * WordSet::kWordBytes / kLineBytes);
    }
    for (const std::uint64_t other : lines) by_line = by_line && (mine & other) == 0;
    lines.push_back(mine);
  }
  std::string text;
  std::size_t done = 0;
  for (const auto& [node, words] : written) {
    if (done++ == kShown) return text + fmt::format(", and {} more", counted(written.size() - kShown, "node", "nodes"));
    text += fmt::format("{}node {}{} {} {}", done == 1 ? "" : ", ", node, done == 1 ? " writes" : "",
                        by_line ? "lines" : "bytes", ranges(words, by_line ? kLineBytes : 1));
  }
  return text;
}

/// Of the blocks in a page, the one with most of `words`. Of two with the same number the later one: where memory was
/// freed and allocated again, that is the newer block.
const NamedBlock& block_of(const Sharing& sharing, const std::vector<std::size_t>& blocks, std::uint64_t begin,
                           const WordSet& words) {
  std::size_t best = blocks.front(), most = 0;
  for (const std::size_t i : blocks) {
    const std::uint64_t from = sharing.blocks[i].offset, to = from + sharing.blocks[i].bytes;
    std::size_t count = 0;
    for (std::size_t word = 0; word < WordSet::kWords; ++word) {
      const std::uint64_t at = begin + word * WordSet::kWordBytes;
      if (words.has(word) && at >= from && at < to) ++count;
    }
    if (count >= most) best = i, most = count;
  }
  return sharing.blocks[best];
}

std::string block_text(const Sharing& sharing, std::uint32_t page, const WordSet& words) {
  const std::vector<std::size_t> blocks = sharing.blocks_in(page);
  if (blocks.empty()) return "no known block";
  const std::uint64_t begin = std::uint64_t{page} * os::kPageBytes;
  const NamedBlock& block = block_of(sharing, blocks, begin, words);
  const std::string name = block.name.empty() ? "" : fmt::format(" '{}'", block.name);
  const std::string place = block.place.empty() ? "" : ", allocated in " + block.place;
  std::string text = fmt::format("block{} ({}{})", name, size_text(block.bytes), place);
  if (begin > block.offset) text += " +" + grouped(begin - block.offset);
  if (begin < block.offset && blocks.size() > 1) text += " and " + counted(blocks.size() - 1, "more", "more");
  return text;
}

/// The node that wrote it in at least three of four slices in which any did.
std::optional<std::uint32_t> main_writer(const Summary& summary) {
  for (const auto& [node, slices] : summary.writers) {
    if (4 * slices >= 3 * summary.write_slices) return node;
  }
  return std::nullopt;
}

struct Judgement {
  Pattern pattern{};
  std::string text;
  WordSet words;  ///< that it is about
};

Judgement judge_readers(const PageSharing& page, const Summary& summary, std::optional<std::uint32_t> writer) {
  std::set<std::uint32_t> readers = summary.readers;
  if (writer) readers.erase(*writer);
  if (readers.empty()) readers = summary.readers;
  const bool many = readers.size() > 1;
  const std::string fetched =
      fmt::format("{} {} it: read by {}", nodes_text(readers), many ? "fetch" : "fetches", many ? "many" : "one");
  const std::string written =
      writer ? fmt::format("node {}{} writes lines {}, ", *writer, page.home == writer ? ", its home," : "",
                           ranges(summary.all.at(*writer), kLineBytes))
             : "no node wrote it after the first fetch, ";
  return {many ? Pattern::read_by_many : Pattern::read_by_one, written + fetched, all_words(summary.all)};
}

Judgement judge(const PageSharing& page) {
  const Summary summary = summarize(page);
  const std::uint64_t several = summary.apart + summary.together;
  if (several > 0 && 4 * several >= summary.write_slices) {
    const bool apart = summary.apart >= summary.together;
    const Words& written = apart ? summary.of_apart : summary.of_together;
    return {apart ? Pattern::false_sharing : Pattern::true_sharing,
            fmt::format("{}, in the same eras: {} sharing", writers_text(written), apart ? "false" : "true"),
            apart ? all_words(written) : common_words(written)};
  }
  const auto writer = main_writer(summary);
  if (!writer && summary.writers.size() > 1) {
    const bool same = meet(summary.all);
    return {same ? Pattern::true_sharing : Pattern::false_sharing,
            fmt::format("{}, in turn: {} sharing", writers_text(summary.all), same ? "true" : "false"),
            same ? common_words(summary.all) : all_words(summary.all)};
  }
  if (writer && page.home && page.home != writer) {
    return {Pattern::wrong_home,
            fmt::format("node {} alone writes lines {}, node {} is its home: wrong home", *writer,
                        ranges(summary.all.at(*writer), kLineBytes), *page.home),
            summary.all.at(*writer)};
  }
  return judge_readers(page, summary, writer);
}

}  // namespace

const char* name_of(Pattern pattern) {
  constexpr const char* kNames[] = {"false_sharing", "true_sharing", "wrong_home", "read_by_many", "read_by_one"};
  return kNames[static_cast<std::size_t>(pattern)];
}

std::vector<Finding> find(const Sharing& sharing, std::size_t most) {
  using Cost = std::tuple<std::uint64_t, std::uint32_t>;
  std::vector<Cost> costs;
  for (const auto& [number, page] : sharing.pages) {
    if (page.fetches() > 0) costs.push_back({page.fetches() + page.diffs(), number});
  }
  std::sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) {
    return std::get<0>(a) != std::get<0>(b) ? std::get<0>(a) > std::get<0>(b) : std::get<1>(a) < std::get<1>(b);
  });
  if (costs.size() > most) costs.resize(most);
  std::vector<Finding> findings;
  for (const auto& [cost, number] : costs) {
    const PageSharing& page = sharing.pages.at(number);
    const Judgement judgement = judge(page);
    const std::uint64_t fetches = page.fetches(), diffs = page.diffs();
    findings.push_back({number, judgement.pattern, fetches, diffs,
                        fmt::format("page {:#x}, {}: {}; {}, {}", sharing.base + number * os::kPageBytes,
                                    block_text(sharing, number, judgement.words), judgement.text,
                                    counted(fetches, "fetch", "fetches"), counted(diffs, "diff", "diffs"))});
  }
  return findings;
}

}  // namespace grapnel::dsm
