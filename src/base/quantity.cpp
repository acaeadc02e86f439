// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace grapnel::base {
namespace {

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};

// Times are in nanoseconds.
constexpr std::array kTimes = {Suffix{"ns", 1}, Suffix{"us", 1'000}, Suffix{"ms", 1'000'000},
                               Suffix{"s", 1'000'000'000}, Suffix{"min", 60'000'000'000}};
constexpr std::string_view kBinary = "kmgt";
constexpr std::size_t kMostDigits = 20;         // of 64 bits; more would overflow the 128 bits that are computed in
constexpr std::size_t kMostFractionDigits = 6;  // likewise

std::uint64_t nanoseconds_of(Unit unit) {
  switch (unit) {
    case Unit::us: return 1'000;
    case Unit::ms: return 1'000'000;
    case Unit::s: return 1'000'000'000;
    default: return 1;
  }
}

std::optional<std::uint64_t> factor_of_bytes(std::string_view suffix) {
  if (suffix == "b") return 1;
  const std::size_t power = kBinary.find(suffix.front());
  const std::string_view rest = suffix.substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return std::uint64_t{1} << (10 * (power + 1));
}

// By how much the number is multiplied to be in the unit's smallest: a byte, a nanosecond, one.
std::optional<std::uint64_t> factor_of(std::string_view suffix, Unit unit) {
  if (suffix.empty()) return nanoseconds_of(unit);
  if (unit == Unit::none) return std::nullopt;
  if (unit == Unit::bytes) return factor_of_bytes(suffix);
  const auto found = std::find_if(kTimes.begin(), kTimes.end(), [&](const Suffix& one) { return one.text == suffix; });
  return found == kTimes.end() ? std::nullopt : std::optional(found->factor);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits off the front.
std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

using Wide = unsigned __int128;

}  // namespace

Unit unit_of(std::string_view setting) {
  const std::string_view last = setting.substr(setting.rfind('_') + 1);
  if (last == "BYTES") return Unit::bytes;
  if (last == "NS") return Unit::ns;
  if (last == "US") return Unit::us;
  if (last == "MS") return Unit::ms;
  return last == "S" ? Unit::s : Unit::none;
}

std::string_view units_taken(Unit unit) {
  switch (unit) {
    case Unit::none: return "";
    case Unit::bytes: return "bytes or K M G T";
    case Unit::ns: return "ns or us ms s";
    case Unit::us: return "us or ms s";
    case Unit::ms: return "ms or s min";
    case Unit::s: return "s or min";
  }
  return "";
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, Unit unit) {
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  if (whole.empty() || whole.size() > kMostDigits || fraction.size() > kMostFractionDigits) return std::nullopt;
  std::string suffix(text);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto factor = factor_of(suffix, unit);
  if (!factor) return std::nullopt;
  Wide value = 0;
  for (const char digit : whole) value = value * 10 + static_cast<Wide>(digit - '0');
  Wide divisor = nanoseconds_of(unit);
  for (const char digit : fraction) {
    value = value * 10 + static_cast<Wide>(digit - '0');
    divisor *= 10;
  }
  value *= *factor;
  if (value % divisor != 0 || value / divisor > UINT64_MAX) return std::nullopt;
  return static_cast<std::uint64_t>(value / divisor);
}

}  // namespace grapnel::base
