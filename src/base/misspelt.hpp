// Variables of the environment that are no settings, but look like one that was written wrongly.
//
// A setting that is not read leaves its default in force without a word. Foreign GRAPNEL_ variables (of a site's
// modules, of tests) have other readers, so only what is near a setting's name is named. Stateless; any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace grapnel::base {

class Config;

/// How many letters must be changed, added or left out to make one of the other (Levenshtein).
std::size_t edits_between(std::string_view one, std::string_view other);

struct Misspelt {
  std::string variable;
  std::string setting;  ///< the one that was probably meant
};

/// `variables` and `settings` are names. Near: two letters changed, added or left out (one, where the setting has
/// four letters or fewer), or a setting's name without its last words (GRAPNEL_WINDOW).
std::vector<Misspelt> misspelt_settings(const std::vector<std::string>& variables,
                                        const std::vector<std::string>& settings);

/// Of the process's environment, among the settings of `config`. Each as a sentence for the user.
std::vector<std::string> misspelt_in_environment(const Config& config);

}  // namespace grapnel::base
