// Status and result, the config table, the codec.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
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

Result<std::size_t> length_of(Result<std::unique_ptr<std::string>> text, int& went_on) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto owned, std::move(text));
  ++went_on;
  return owned->size();
}

TEST(Result, GivesItsValueOrReturnsItsStatus) {
  int went_on = 0;
  const auto length = length_of(std::make_unique<std::string>("here"), went_on);
  ASSERT_TRUE(length.ok());
  EXPECT_EQ(*length, 4U);
  EXPECT_EQ(length_of(Status(Code::refused, "no"), went_on).status().to_string(), "refused: no");
  EXPECT_EQ(went_on, 1);
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
