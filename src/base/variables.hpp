// The kinds of variables of a SettingsGroup (config.hpp): integers, choices, flags, texts.
//
// Each function takes the name, the meaning, what the variable takes (both as `grapnel info` prints them), and the
// member of the layer's structure. The unit of a number follows from the last word of the name (quantity.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/quantity.hpp"

namespace grapnel::base {

/// Ranks of one job must have the same value of this one.
inline Variable alike_in_all_ranks(Variable variable) {
  variable.alike = true;
  return variable;
}

template <typename Values, typename Integer>
Variable integer(const char* name, const char* meaning, const char* takes, Integer Values::*member,
                 std::type_identity_t<Integer> low, std::type_identity_t<Integer> high) {
  return {name, meaning, takes,
          [=](std::any& values, std::string_view text) {
            const auto value = parse_quantity(text, unit_of(name));
            if (!value || std::cmp_less(*value, low) || std::cmp_greater(*value, high)) return false;
            std::any_cast<Values&>(values).*member = static_cast<Integer>(*value);
            return true;
          },
          [=](const std::any& values) { return std::to_string(std::any_cast<const Values&>(values).*member); }};
}

template <typename Value>
struct Choice {
  const char* text;
  Value value;
};

template <typename Values, typename Value>
Variable choice(const char* name, const char* meaning, const char* takes, Value Values::*member,
                const std::vector<Choice<std::type_identity_t<Value>>>& choices) {
  return {name, meaning, takes,
          [=](std::any& values, std::string_view text) {
            for (const auto& option : choices) {
              if (text != option.text) continue;
              std::any_cast<Values&>(values).*member = option.value;
              return true;
            }
            return false;
          },
          [=](const std::any& values) {
            for (const auto& option : choices) {
              if (std::any_cast<const Values&>(values).*member == option.value) return std::string(option.text);
            }
            return std::string("?");
          }};
}

/// Any text but an empty one; none is shown as "-".
template <typename Values>
Variable text(const char* name, const char* meaning, const char* takes, std::string Values::*member) {
  return {name, meaning, takes,
          [=](std::any& values, std::string_view given) {
            std::any_cast<Values&>(values).*member = given;
            return !given.empty();
          },
          [=](const std::any& values) {
            const std::string& value = std::any_cast<const Values&>(values).*member;
            return value.empty() ? std::string("-") : value;
          }};
}

template <typename Values>
Variable flag(const char* name, const char* meaning, bool Values::*member) {
  return choice(name, meaning, "0|1", member, {{"0", false}, {"1", true}});
}

}  // namespace grapnel::base
