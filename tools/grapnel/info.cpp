// SPDX-License-Identifier: Apache-2.0
#include "info.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/build.hpp"
#include "base/misspelt.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "os/page_trap.hpp"
#include "output.hpp"
#include "runtime/services.hpp"

namespace grapnel::tool {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

Section build_section() {
  return {"build",
          {{"what", "value"},
           {"version", base::build_version()},
           {"build id", base::build_id()},
           {"compiler", compiler()},
           {"type", GRAPNEL_BUILD_TYPE},
           {"sanitizers", GRAPNEL_SANITIZERS},
           {"MPI of libarmci", GRAPNEL_MPI}}};
}

std::string list_of(const std::vector<Rank>& ranks) {
  std::string list;
  for (const Rank rank : ranks) list += fmt::format("{}{}", list.empty() ? "" : " ", static_cast<int>(rank));
  return list;
}

// The map of the job that this process is: alone, or as a rank of whatever started it.
Result<Section> node_section(const base::Config& config) {
  const auto host = os::make_real_host();
  auto launch = launch::join(config, *host);
  if (!launch) return launch.status();
  const launch::NodeMap& nodes = (*launch)->nodes();
  Section section{"node map (" + (*launch)->description() + ")", {{"node", "ranks", "machine"}}};
  for (std::size_t node = 0; node < nodes.node_count(); ++node) {
    section.rows.push_back({std::to_string(node), list_of(nodes.ranks_of[node]), nodes.machine_of[node]});
  }
  GRAPNEL_TRY((*launch)->finalize());
  return section;
}

// What GRAPNEL_DSM_TRAP=auto takes here, and why not the other.
Section heap_section() {
  const Status uffd = os::try_uffd();
  return {"shared heap",
          {{"what", "value"},
           {"trap (auto)", uffd.ok() ? "uffd" : "mprotect"},
           {"why not uffd", uffd.ok() ? "-" : uffd.message()}}};
}

Section settings_section(const base::Config& config) {
  Section section{"settings", {{"variable", "value", "default", "takes", "meaning"}}};
  for (const auto& row : config.rows()) {
    section.rows.push_back({row.variable, row.value, row.standard, row.takes, row.meaning});
  }
  return section;
}

std::string as_text(const Section& section) {
  std::string text = section.title + "\n";
  std::vector<std::size_t> widths(section.rows.front().size());
  for (const auto& row : section.rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  for (const auto& row : section.rows) {
    std::string line = " ";
    for (std::size_t column = 0; column < row.size(); ++column) {
      const bool last = column + 1 == row.size();
      line += last ? fmt::format(" {}", row[column]) : fmt::format(" {:<{}} ", row[column], widths[column]);
    }
    text += line + "\n";
  }
  return text + "\n";
}

// {"sections": [{"title": …, "rows": [{column: cell, …}, …]}, …]}
std::string as_json(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    std::string rows;
    for (std::size_t row = 1; row < section.rows.size(); ++row) {
      std::string cells;
      for (std::size_t column = 0; column < section.rows[row].size(); ++column) {
        cells += fmt::format("{}{}: {}", column == 0 ? "" : ", ", json_quoted(section.rows[0][column]),
                             json_quoted(section.rows[row][column]));
      }
      rows += fmt::format("{}\n    {{{}}}", row == 1 ? "" : ",", cells);
    }
    out += fmt::format("{}\n  {{\"title\": {}, \"rows\": [{}]}}", out.empty() ? "" : ",", json_quoted(section.title),
                       rows);
  }
  return fmt::format("{{\"schema\": 1, \"sections\": [{}\n]}}\n", out);
}

}  // namespace

int info(bool json) {
  const auto config = base::Config::from_environment(runtime::settings_groups());
  if (!config) {
    complain("grapnel info", config.status().message());
    return 1;
  }
  for (const std::string& sentence : base::misspelt_in_environment(*config)) complain("grapnel info", sentence);
  std::vector<Section> sections = {build_section()};
  for (Section& section : transport_sections(*config)) sections.push_back(std::move(section));
  int exit_code = 0;
  if (auto nodes = node_section(*config); nodes.ok()) {
    sections.push_back(std::move(*nodes));
  } else {
    complain("grapnel info", "no node map: " + nodes.status().message());
    exit_code = 1;
  }
  sections.push_back(heap_section());
  sections.push_back(settings_section(*config));
  std::string text;
  if (json) {
    text = as_json(sections);
  } else {
    for (const Section& section : sections) text += as_text(section);
  }
  return print("grapnel info", text) ? exit_code : 1;
}

}  // namespace grapnel::tool
