// The settings of all layers: how they are read, and what a value that cannot be read is answered with.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/misspelt.hpp"
#include "base/units.hpp"
#include "launch/settings.hpp"
#include "locks/settings.hpp"
#include "progress/settings.hpp"
#include "rma/settings.hpp"
#include "runtime/assembly.hpp"
#include "runtime/settings.hpp"

namespace grapnel {
namespace {

Result<base::Config> read(const std::map<std::string, std::string>& environment) {
  return base::Config::from_environment(runtime::settings_groups(), [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(SettingsTable, ReadsEveryKindOfSetting) {
  const auto config = read({{"GRAPNEL_NODES", "3"},
                            {"GRAPNEL_PROGRESS", "event"},
                            {"GRAPNEL_STATS", "1"},
                            {"GRAPNEL_SPIN_NS", "0"},
                            {"GRAPNEL_LOG", "debug"}});
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->get<launch::Settings>().nodes, 3);
  EXPECT_EQ(config->get<progress::Settings>().mode, progress::ProgressMode::event);
  EXPECT_TRUE(config->get<runtime::Settings>().stats);
  EXPECT_EQ(config->get<progress::Settings>().spin_ns, 0u);
  EXPECT_EQ(config->get<runtime::Settings>().log, base::LogLevel::debug);
}

TEST(SettingsTable, ABadValueIsAnErrorThatSaysWhatIsTaken) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"GRAPNEL_NODES", "-1"},
                                                                      {"GRAPNEL_NODES", "2x"},
                                                                      {"GRAPNEL_PROGRESS", "sometimes"},
                                                                      {"GRAPNEL_CHUNK_BYTES", "99999999"},
                                                                      {"GRAPNEL_LOG", ""}}) {
    const auto config = read({{name, value}});
    ASSERT_FALSE(config.ok()) << name << "=" << value;
    EXPECT_EQ(config.status().code(), Code::invalid_argument);
    EXPECT_NE(config.status().message().find(name), std::string::npos) << config.status().message();
    EXPECT_NE(config.status().message().find("it takes"), std::string::npos);
  }
}

TEST(SettingsTable, SizesAndTimesTakeUnits) {
  const auto config = read({{"GRAPNEL_POOL_BYTES", "512G"},
                            {"GRAPNEL_WINDOW_BYTES", "0.5MiB"},
                            {"GRAPNEL_CHUNK_BYTES", "16kb"},
                            {"GRAPNEL_SPIN_NS", "5us"},
                            {"GRAPNEL_LOCK_BACKOFF_MOST_NS", "1s"}});
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->get<launch::Settings>().pool_bytes, 512 * base::kGiB);
  EXPECT_EQ(config->get<progress::Settings>().window_bytes, 512 * base::kKiB);
  EXPECT_EQ(config->get<rma::Settings>().chunk_bytes, 16 * base::kKiB);
  EXPECT_EQ(config->get<progress::Settings>().spin_ns, 5'000u);
  EXPECT_EQ(config->get<locks::Settings>().backoff_most_ns, base::kSecond_ns);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"GRAPNEL_POOL_BYTES", "512Q"},
                                                                                    {"GRAPNEL_POOL_BYTES", "512 G"},
                                                                                    {"GRAPNEL_POOL_BYTES", "5s"},
                                                                                    {"GRAPNEL_POOL_BYTES", "1000T"},
                                                                                    {"GRAPNEL_SPIN_NS", "0.5ns"},
                                                                                    {"GRAPNEL_SPIN_NS", "5G"},
                                                                                    {"GRAPNEL_SPIN_NS", "2s"},
                                                                                    {"GRAPNEL_NODES", "2K"}}) {
    const auto refused = read({{name, value}});
    ASSERT_FALSE(refused.ok()) << name << "=" << value;
    EXPECT_NE(refused.status().message().find("it takes"), std::string::npos);
  }
}

TEST(SettingsTable, TheDefaultsPassThroughTheirOwnTable) {
  for (const base::Config::Row& row : base::Config(runtime::settings_groups()).rows()) {
    EXPECT_EQ(row.value, row.standard);
    EXPECT_FALSE(row.meaning.empty());
    const auto config = read({{row.variable, row.standard}});
    EXPECT_TRUE(config.ok()) << row.variable << ": " << config.status().to_string();
  }
}

// Two letters of a long name, one of a short one; what sites and tests set is not judged.
TEST(SettingsTable, NamesWhatLooksLikeAMisspeltSetting) {
  std::vector<std::string> settings;
  for (const base::Config::Row& row : base::Config(runtime::settings_groups()).rows()) settings.push_back(row.variable);
  const auto meant = [&](const std::string& variable) {
    const auto found = base::misspelt_settings({variable}, settings);
    return found.empty() ? "" : found.front().setting;
  };
  EXPECT_EQ(meant("GRAPNEL_NODE"), "GRAPNEL_NODES");
  EXPECT_EQ(meant("GRAPNEL_PROGRES"), "GRAPNEL_PROGRESS");
  EXPECT_EQ(meant("GRAPNEL_STAST"), "GRAPNEL_STATS");
  EXPECT_EQ(meant("GRAPNEL_WINDOW"), "GRAPNEL_WINDOW_BYTES");
  EXPECT_EQ(meant("GRAPNEL_LOCKS"), "GRAPNEL_LOCK");
  for (const std::string& setting : settings) EXPECT_EQ(meant(setting), "") << setting;
  for (const char* foreign : {"GRAPNEL_ROOT", "GRAPNEL_DIR", "GRAPNEL_LIB", "GRAPNEL_HOME", "GRAPNEL_",
                              "GRAPNEL_RUN_RANKS", "GRAPNEL_TEST_SEED", "NODES", "MY_GRAPNEL_NODE"}) {
    EXPECT_EQ(meant(foreign), "") << foreign;
  }
}

}  // namespace
}  // namespace grapnel
