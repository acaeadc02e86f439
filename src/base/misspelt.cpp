// SPDX-License-Identifier: Apache-2.0
#include "base/misspelt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/config.hpp"

namespace grapnel::base {
namespace {

constexpr std::string_view kPrefix = "GRAPNEL_";

// Of short names one letter: GRAPNEL_LIB, which sites set, is not GRAPNEL_LOG.
bool is_near(const std::string& variable, const std::string& setting) {
  const std::size_t most_edits = setting.size() - kPrefix.size() <= 4 ? 1 : 2;
  return setting.rfind(variable + "_", 0) == 0 || edits_between(variable, setting) <= most_edits;
}

}  // namespace

std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::vector<Misspelt> misspelt_settings(const std::vector<std::string>& variables,
                                        const std::vector<std::string>& settings) {
  std::vector<Misspelt> found;
  for (const std::string& variable : variables) {
    if (variable.rfind(kPrefix, 0) != 0 || variable.size() == kPrefix.size()) continue;
    if (std::find(settings.begin(), settings.end(), variable) != settings.end()) continue;
    const auto meant = std::find_if(settings.begin(), settings.end(),
                                    [&](const std::string& setting) { return is_near(variable, setting); });
    if (meant != settings.end()) found.push_back({variable, *meant});
  }
  return found;
}

std::vector<std::string> misspelt_in_environment(const Config& config) {
  std::vector<std::string> settings, variables, sentences;
  for (const Config::Row& row : config.rows()) settings.push_back(row.variable);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    variables.emplace_back(text.substr(0, text.find('=')));
  }
  for (const Misspelt& one : misspelt_settings(variables, settings)) {
    sentences.push_back(fmt::format("{} is no setting and has no effect; {} is one", one.variable, one.setting));
  }
  return sentences;
}

}  // namespace grapnel::base
