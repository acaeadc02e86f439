// The settings of a process: every GRAPNEL_ variable with its meaning, its default and its value.
//
// A layer keeps its settings in a structure of its own and describes them in a SettingsGroup (settings.hpp beside its
// other headers). `Config::from_environment` reads the groups that the program is made of once, at start; a value that
// cannot be read is an error that names the variable, the value and what it takes. `grapnel info` prints
// `Config::rows()`.
//
// Threads: a Config is a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"

namespace grapnel::base {

/// One variable: its texts, and how its member of the group's structure is read and shown.
struct Variable {
  const char* name;
  const char* meaning;
  const char* takes;
  std::function<bool(std::any& values, std::string_view text)> parse;  ///< false: `text` cannot be read
  std::function<std::string(const std::any& values)> show;
  bool alike = false;  ///< ranks of one job with different values would wait for each other
};

/// The settings of one layer. Its structure `Values` answers it from `static const SettingsGroup& group()`.
struct SettingsGroup {
  std::any defaults;  ///< a `Values`
  std::vector<Variable> variables;
};

using SettingsGroups = std::vector<const SettingsGroup*>;

class Config {
 public:
  Config() = default;
  /// Every setting at its default.
  explicit Config(const SettingsGroups& groups);

  /// `lookup` answers a variable's text, or null; the default reads the process environment. Errors: invalid_argument.
  static Result<Config> from_environment(const SettingsGroups& groups,
                                         const std::function<const char*(const char*)>& lookup = {});

  /// The values of one layer; its defaults, where its group was not read. Valid until the Config changes or ends.
  template <typename Values>
  const Values& get() const {
    return std::any_cast<const Values&>(values_of(Values::group()));
  }
  template <typename Values>
  Values& change() {
    return std::any_cast<Values&>(own_values_of(Values::group()));
  }

  struct Row {
    std::string variable, meaning, takes, standard, value;
  };
  std::vector<Row> rows() const;

  /// The settings by which ranks work together, as "NAME=value NAME=value …": a job whose ranks have them differently
  /// would hang.
  std::string alike() const;

 private:
  struct Held {
    const SettingsGroup* group;
    std::any values;
  };
  const std::any& values_of(const SettingsGroup& group) const;
  std::any& own_values_of(const SettingsGroup& group);
  std::vector<Held> held_;
};

}  // namespace grapnel::base
