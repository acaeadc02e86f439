// PMI-1's lines, and how keys and values are written in them.
//
// A line is `cmd=NAME key=value key=value …` and a newline; spaces separate, and nothing is quoted. The launcher bounds
// keys and values to some hundred characters, so a value of ours is base64 in as many entries as it takes: the first
// one begins with their number and a colon.
//
// Stateless; any thread. No input is trusted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"
#include "grapnel/types.hpp"

namespace grapnel::launch {

struct Pmi1Message {
  std::string command;
  std::map<std::string, std::string, std::less<>> fields;  ///< without `cmd`

  /// Errors of the next two: refused, naming the field.
  Result<std::string> text(const char* field) const;
  Result<int> number(const char* field) const;
};

/// A line longer than this is no answer of a launcher.
inline constexpr std::size_t kPmi1LongestLine = 16 * 1024;

/// `line` is without its newline. Errors: refused (no `cmd=` first, a word without `=`, a field twice, characters
/// that are no text), showing the line's beginning.
Result<Pmi1Message> parse_pmi1(std::string_view line);

/// A key of at most `key_limit` characters for one entry of a value; job: which of the process's jobs, from 0. Errors:
/// invalid_argument (too long).
Result<std::string> pmi1_key(unsigned job, Rank rank, std::size_t entry, std::string_view key, std::size_t key_limit);

/// `value` as entries of at most `value_limit` characters, at least one. Errors: invalid_argument (more than 9999).
Result<std::vector<std::string>> pmi1_entries(ByteView value, std::size_t value_limit);

/// How many entries the value has, and the first one's own text.
struct Pmi1First {
  std::size_t entries = 0;
  std::string_view text;
};
std::optional<Pmi1First> pmi1_first(std::string_view entry);

/// Base64 without padding, in letters that PMI-1 lines may hold. Nothing for text that no encoder wrote.
std::string to_base64(ByteView bytes);
std::optional<Bytes> from_base64(std::string_view text);

}  // namespace grapnel::launch
