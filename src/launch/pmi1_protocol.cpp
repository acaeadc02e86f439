// SPDX-License-Identifier: Apache-2.0
#include "launch/pmi1_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace grapnel::launch {
namespace {

constexpr std::size_t kShown = 60;           // characters of a bad line that an error shows
constexpr std::size_t kMostEntries = 9'999;  // 10 MB with hydra's limits
constexpr std::size_t kCountRoom = 5;        // "9999:"
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string shown(std::string_view line) {
  std::string text(line.substr(0, kShown));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line.size() > kShown ? text + "…" : text;
}

Status garbled(std::string_view line, const char* why) {
  return Status(Code::refused, fmt::format("a line of the launcher is not of PMI-1 ({}): \"{}\"", why, shown(line)));
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::string> Pmi1Message::text(const char* field) const {
  const auto found = fields.find(field);
  if (found != fields.end()) return found->second;
  return Status(Code::refused, fmt::format("the launcher's answer \"{}\" has no {}", shown(command), field));
}

Result<int> Pmi1Message::number(const char* field) const {
  GRAPNEL_ASSIGN_OR_RETURN(const auto words, text(field));
  if (const auto value = whole_number<int>(words)) return *value;
  return Status(Code::refused, fmt::format("the launcher's answer \"{}\" has {}={}, which is no number", shown(command),
                                           field, shown(words)));
}

Result<Pmi1Message> parse_pmi1(std::string_view line) {
  if (line.size() > kPmi1LongestLine) return garbled(line, "too long");
  if (std::any_of(line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; })) {
    return garbled(line, "it is no text");
  }
  Pmi1Message message;
  bool first = true;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, space);
    rest.remove_prefix(std::min(space + 1, rest.size()));
    if (word.empty()) continue;
    const std::size_t sign = word.find('=');
    if (sign == 0 || sign == std::string_view::npos) return garbled(line, "a word without a name or a =");
    const std::string_view name = word.substr(0, sign);
    const std::string_view value = word.substr(sign + 1);
    if (first != (name == "cmd")) return garbled(line, "cmd= stands first, and once");
    if (first) {
      message.command = value;
    } else if (!message.fields.emplace(name, value).second) {
      return garbled(line, "a name twice");
    }
    first = false;
  }
  return message.command.empty() ? Result<Pmi1Message>(garbled(line, "no command")) : message;
}

Result<std::string> pmi1_key(unsigned job, Rank rank, std::size_t entry, std::string_view key, std::size_t key_limit) {
  std::string name = fmt::format("g{}.{}.{}.", job, static_cast<int>(rank), entry);
  for (const char c : key)
    name += is_plain(c) ? std::string(1, c) : fmt::format("-{:02x}", static_cast<unsigned char>(c));
  if (name.size() <= key_limit) return name;
  return Status(Code::invalid_argument, fmt::format("the key \"{}\" takes {} characters; this launcher's limit is {}",
                                                    key, name.size(), key_limit));
}

Result<std::vector<std::string>> pmi1_entries(ByteView value, std::size_t value_limit) {
  if (value_limit <= kCountRoom) {
    return Status(Code::refused, fmt::format("the launcher takes values of {} characters only", value_limit));
  }
  const std::string text = to_base64(value);
  const std::size_t first = std::min(text.size(), value_limit - kCountRoom);
  std::vector<std::string> entries = {text.substr(0, first)};
  for (std::size_t begin = first; begin < text.size(); begin += value_limit) {
    entries.push_back(text.substr(begin, value_limit));
  }
  if (entries.size() > kMostEntries) {
    return Status(Code::invalid_argument,
                  fmt::format("a value of {} bytes takes {} entries of this launcher's store; the limit is {}",
                              value.size(), entries.size(), kMostEntries));
  }
  entries.front() = fmt::format("{}:{}", entries.size(), entries.front());
  return entries;
}

std::optional<Pmi1First> pmi1_first(std::string_view entry) {
  const std::size_t colon = entry.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto count = whole_number<std::size_t>(entry.substr(0, colon));
  if (!count || *count == 0 || *count > kMostEntries) return std::nullopt;
  return Pmi1First{*count, entry.substr(colon + 1)};
}

std::string to_base64(ByteView bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  for (std::size_t begin = 0; begin < bytes.size(); begin += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - begin);
    unsigned triple = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      triple = triple << 8 | (i < count ? std::to_integer<unsigned>(bytes[begin + i]) : 0);
    }
    for (std::size_t i = 0; i <= count; ++i) text += kDigits[triple >> (18 - 6 * i) & 63];
  }
  return text;
}

std::optional<Bytes> from_base64(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  Bytes bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xff));
  }
  // What is left over holds no bits of a byte.
  if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace grapnel::launch
