// Status and result, the config table, the codec.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/codec.hpp"
#include "base/config.hpp"
#include "base/misspelt.hpp"
#include "base/output.hpp"
#include "base/quantity.hpp"
#include "base/units.hpp"
#include "base/varint.hpp"
#include "grapnel/status.hpp"

namespace grapnel {
namespace {

TEST(Status, SuccessIsEmptyAndFailureTalks) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), Code::ok);
  EXPECT_EQ(Status().to_string(), "ok");
  const Status failure(Code::no_memory, "4 KiB asked, 1 KiB left");
  const Status copied = failure;
  EXPECT_EQ(copied.to_string(), "no memory: 4 KiB asked, 1 KiB left");
  Status moved = std::move(const_cast<Status&>(copied));
  EXPECT_EQ(moved.code(), Code::no_memory);
  moved = Status();
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(failure.code(), Code::no_memory);  // the copy's fate is its own
}

TEST(Result, HoldsOneOrTheOther) {
  Result<std::string> good(std::string("here"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, "here");
  EXPECT_TRUE(good.status().ok());
  const Result<std::string> bad(Status(Code::refused, "no"));
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), Code::refused);
}

Result<base::Config> read(const std::map<std::string, std::string>& environment) {
  return base::Config::from_environment([&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Config, ReadsEveryKindOfSetting) {
  const auto config = read({{"GRAPNEL_NODES", "3"},
                            {"GRAPNEL_PROGRESS", "event"},
                            {"GRAPNEL_STATS", "1"},
                            {"GRAPNEL_SPIN_NS", "0"},
                            {"GRAPNEL_LOG", "debug"}});
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->nodes, 3);
  EXPECT_EQ(config->progress, base::ProgressMode::event);
  EXPECT_TRUE(config->stats);
  EXPECT_EQ(config->spin_ns, 0u);
  EXPECT_EQ(config->log, "debug");
}

TEST(Config, ABadValueIsAnErrorThatSaysWhatIsTaken) {
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

TEST(Config, SizesAndTimesTakeUnits) {
  const auto config = read({{"GRAPNEL_POOL_BYTES", "512G"},
                            {"GRAPNEL_WINDOW_BYTES", "0.5MiB"},
                            {"GRAPNEL_CHUNK_BYTES", "16kb"},
                            {"GRAPNEL_SPIN_NS", "5us"},
                            {"GRAPNEL_LOCK_BACKOFF_MOST_NS", "1s"}});
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->pool_bytes, 512 * base::kGiB);
  EXPECT_EQ(config->window_bytes, 512 * base::kKiB);
  EXPECT_EQ(config->chunk_bytes, 16 * base::kKiB);
  EXPECT_EQ(config->spin_ns, 5'000u);
  EXPECT_EQ(config->lock_backoff_most_ns, base::kSecond_ns);
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

TEST(Quantity, IsExactOrRefused) {
  using base::Unit;
  const auto parse = [](const char* text, Unit unit) { return base::parse_quantity(text, unit); };
  EXPECT_EQ(parse("18446744073709551615", Unit::none), UINT64_MAX);
  EXPECT_EQ(parse("18446744073709551616", Unit::none), std::nullopt);
  EXPECT_EQ(parse("1.000001s", Unit::us), 1'000'001u);
  EXPECT_EQ(parse("1500us", Unit::ms), std::nullopt);
  EXPECT_EQ(parse("2MIN", Unit::s), 120u);
  EXPECT_EQ(parse("250", Unit::ms), 250u);
  EXPECT_EQ(parse("1.5", Unit::ms), std::nullopt);
  EXPECT_EQ(parse("99999999999999999999T", Unit::bytes), std::nullopt);
  for (const char* nonsense : {"", "-1", "+1", "G", ".5G", "1.G", "1e3", "1GG", "1iB", "0x10", "1.0000001G", "1 "}) {
    EXPECT_EQ(parse(nonsense, Unit::bytes), std::nullopt) << nonsense;
  }
  EXPECT_EQ(base::unit_of("GRAPNEL_HEARTBEAT_MS"), Unit::ms);
  EXPECT_EQ(base::unit_of("GRAPNEL_WATCHDOG_S"), Unit::s);
  EXPECT_EQ(base::unit_of("GRAPNEL_STATS"), Unit::none);
}

// Nothing reads the pipe, and SIGPIPE would end this process.
TEST(Output, AClosedPipeIsAnAnswerAndNoSignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(base::write_all(ends[1], "text"), 0);
  ::close(ends[0]);
  EXPECT_EQ(base::write_all(ends[1], "text"), EPIPE);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  ::close(ends[1]);
  EXPECT_EQ(base::write_all(ends[1], "text"), EBADF);
}

TEST(Config, TheDefaultsPassThroughTheirOwnTable) {
  for (const base::Config::Row& row : base::Config().rows()) {
    EXPECT_EQ(row.value, row.standard);
    EXPECT_FALSE(row.meaning.empty());
    const auto config = read({{row.variable, row.standard}});
    EXPECT_TRUE(config.ok()) << row.variable << ": " << config.status().to_string();
  }
}

// Two letters of a long name, one of a short one; what sites and tests set is not judged.
TEST(Config, NamesWhatLooksLikeAMisspeltSetting) {
  std::vector<std::string> settings;
  for (const base::Config::Row& row : base::Config().rows()) settings.push_back(row.variable);
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

TEST(Codec, ReadsBackAndStopsAtTheEnd) {
  base::Encoder encoder;
  const std::string text = "grapnel";
  encoder.put(std::uint32_t{7}).put_string(std::as_bytes(std::span(text)));
  base::Decoder decoder(encoder.view());
  EXPECT_EQ(decoder.get<std::uint32_t>(), 7u);
  const auto read_back = decoder.get_string();
  ASSERT_TRUE(read_back.has_value());
  EXPECT_EQ(read_back->size(), text.size());
  EXPECT_FALSE(decoder.get<char>().has_value());
  base::Decoder lying(base::bytes_of(std::uint64_t{1000}));  // a length without its bytes
  EXPECT_FALSE(lying.get_string().has_value());
}

TEST(Varint, ReadsBackAtEveryLength) {
  std::byte buffer[base::kMostVarintBytes];
  for (unsigned bit = 0; bit < base::kVarintValueBits; ++bit) {
    for (const std::uint64_t value : {std::uint64_t{1} << bit, (std::uint64_t{2} << bit) - 1}) {
      const auto bytes = static_cast<std::size_t>(base::write_varint(buffer, value) - buffer);
      EXPECT_EQ(bytes, bit / 7 + 1) << value;
      std::uint64_t back = 0;
      EXPECT_EQ(base::read_varint(buffer, buffer + bytes, back), bytes) << value;
      EXPECT_EQ(back, value);
      EXPECT_EQ(base::read_varint(buffer, buffer + bytes - 1, back), 0u) << value << ", cut off";
    }
  }
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{77}, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(base::unzigzag(base::zigzag(value)), value);
  }
  EXPECT_EQ(base::zigzag(-2), 3u);
}

TEST(Varint, RefusesWhatIsLongerThanNeeded) {
  std::uint64_t value = 0;
  for (unsigned bytes = 2; bytes <= base::kMostVarintBytes; ++bytes) {
    // The greatest value of one byte less, and the least that needs so many.
    for (const bool needed : {false, true}) {
      const std::uint64_t least = std::uint64_t{1} << (7 * (bytes - 1));
      const std::uint64_t code = ((needed ? least : least - 1) << 1 | 1) << (bytes - 1);
      const ByteView view = base::bytes_of(code);
      EXPECT_EQ(base::read_varint(view.data(), view.data() + view.size(), value), needed ? bytes : 0u);
    }
  }
  const std::byte nothing[9] = {};  // a length beyond the longest
  EXPECT_EQ(base::read_varint(nothing, nothing + sizeof nothing, value), 0u);
  EXPECT_EQ(base::read_varint(nothing, nothing, value), 0u);
}

TEST(Units, Round) {
  EXPECT_EQ(base::round_up(0, 4096), 0u);
  EXPECT_EQ(base::round_up(1, 4096), 4096u);
  EXPECT_EQ(base::round_up(9, 3), 9u);
  EXPECT_EQ(base::divide_up(10, 3), 4u);
}

}  // namespace
}  // namespace grapnel
