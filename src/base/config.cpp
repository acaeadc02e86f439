// SPDX-License-Identifier: Apache-2.0
#include "base/config.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/quantity.hpp"

namespace grapnel::base {
namespace {

std::string takes(const Variable& variable) {
  const std::string_view units = units_taken(unit_of(variable.name));
  return units.empty() ? variable.takes : fmt::format("{} ({})", variable.takes, units);
}

}  // namespace

Config::Config(const SettingsGroups& groups) {
  for (const SettingsGroup* group : groups) own_values_of(*group);
}

const std::any& Config::values_of(const SettingsGroup& group) const {
  for (const Held& held : held_) {
    if (held.group == &group) return held.values;
  }
  return group.defaults;
}

std::any& Config::own_values_of(const SettingsGroup& group) {
  for (Held& held : held_) {
    if (held.group == &group) return held.values;
  }
  return held_.emplace_back(Held{&group, group.defaults}).values;
}

Result<Config> Config::from_environment(const SettingsGroups& groups,
                                        const std::function<const char*(const char*)>& lookup) {
  Config config(groups);
  for (Held& held : config.held_) {
    for (const Variable& variable : held.group->variables) {
      const char* text = lookup ? lookup(variable.name) : std::getenv(variable.name);
      if (text == nullptr || variable.parse(held.values, text)) continue;
      return Status(Code::invalid_argument,
                    fmt::format("{}=\"{}\" cannot be used; it takes {}", variable.name, text, takes(variable)));
    }
  }
  return config;
}

std::vector<Config::Row> Config::rows() const {
  std::vector<Row> rows;
  for (const Held& held : held_) {
    for (const Variable& variable : held.group->variables) {
      rows.push_back({variable.name, variable.meaning, takes(variable), variable.show(held.group->defaults),
                      variable.show(held.values)});
    }
  }
  return rows;
}

std::string Config::alike() const {
  std::string settings;
  for (const Held& held : held_) {
    for (const Variable& variable : held.group->variables) {
      if (!variable.alike) continue;
      settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", variable.name, variable.show(held.values));
    }
  }
  return settings;
}

}  // namespace grapnel::base
