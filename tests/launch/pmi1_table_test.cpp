// The table that the server of `grapnel run` hands to the ranks, good ones and bad ones.
// SPDX-License-Identifier: Apache-2.0
#include "launch/pmi1_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/codec.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::launch {
namespace {

ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Bytes part(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs) {
  base::Encoder encoder;
  for (const auto& [key, value] : pairs) encoder.put_string(view_of(key)).put_string(view_of(value));
  return encoder.take();
}

Result<Pmi1Table> table_of(const Bytes& bytes, int ranks) {
  const auto file = os::create_sealed_file("test", bytes);
  EXPECT_TRUE(file.ok());
  return Pmi1Table::open(*file, bytes.size(), ranks);
}

std::string text_at(const Pmi1Table& table, int rank, std::string_view key) {
  const auto found = table.find(Rank{rank}, key);
  if (!found) return "error";
  if (!*found) return "nothing";
  return {reinterpret_cast<const char*>((*found)->data()), (*found)->size()};
}

TEST(Pmi1Tables, HoldWhatEachRankPublished) {
  const auto table =
      table_of(encode_pmi1_table({part({{"a", "1"}, {"b", ""}, {"a", "2"}}), {}, part({{"a", "3"}})}), 3);
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(text_at(*table, 0, "a"), "2");
  EXPECT_EQ(text_at(*table, 0, "b"), "");
  EXPECT_EQ(text_at(*table, 0, "c"), "nothing");
  EXPECT_EQ(text_at(*table, 1, "a"), "nothing");
  EXPECT_EQ(text_at(*table, 2, "a"), "3");
}

TEST(Pmi1Tables, BadOnesAreRefused) {
  const Bytes good = encode_pmi1_table({part({{"a", "1"}}), part({{"b", "2"}})});
  EXPECT_EQ(table_of(good, 3).status().code(), Code::refused);
  EXPECT_EQ(table_of(good, 1).status().code(), Code::refused);
  EXPECT_EQ(table_of(Bytes(good.begin(), good.end() - 1), 2).status().code(), Code::refused);
  std::mt19937 dice(3);
  for (int round = 0; round < 2'000; ++round) {
    Bytes noisy = good;
    for (int i = 0; i < 3; ++i) noisy[dice() % noisy.size()] = static_cast<std::byte>(dice());
    if (const auto table = table_of(noisy, 2)) {
      for (const int rank : {0, 1}) static_cast<void>(table->find(Rank{rank}, "a"));  // no read outside
    }
  }
}

TEST(Pmi1Tables, AFileThatCanStillChangeIsRefused) {
  const Bytes good = encode_pmi1_table({part({{"a", "1"}})});
  const auto file = os::create_shared_file("test", good.size());
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::pwrite(file->number(), good.data(), good.size(), 0), static_cast<ssize_t>(good.size()));
  EXPECT_EQ(Pmi1Table::open(*file, good.size(), 1).status().code(), Code::refused);
}

}  // namespace
}  // namespace grapnel::launch
