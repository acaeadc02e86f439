// SPDX-License-Identifier: Apache-2.0
#include "rma/kernels/copy.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/units.hpp"
#include "kernels/memory.hpp"

namespace grapnel::rma {
namespace {

using base::kKiB;
using base::kMiB;
using kernels_test::Buffer;
using kernels_test::Fenced;

constexpr std::size_t kGuard = 64;

void copy_by(const CopyMethods* method, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (method != nullptr && bytes > kInlineCopyBytes) return method->copy(to, from, bytes);
  copy(to, from, bytes);
}

/// Copies into the middle of a buffer and compares all of it, guards included, with what memcpy would have left.
/// Stops at the first difference, to keep the loops of the callers readable.
void expect_copied(const CopyMethods* method, Buffer& to, std::size_t to_offset, Buffer& from, std::size_t from_offset,
                   std::size_t bytes) {
  std::vector<std::byte> expected = to.content();
  if (bytes > 0) std::memcpy(expected.data() + to_offset, from.data() + from_offset, bytes);
  copy_by(method, to.data() + to_offset, from.data() + from_offset, bytes);
  ASSERT_EQ(std::memcmp(expected.data(), to.data(), to.size()), 0)
      << (method ? method->name : "default") << ": " << bytes << " bytes, destination at " << to_offset
      << ", source at " << from_offset;
}

TEST(Copy, EverySmallSizeAtEveryAlignment) {
  base::Random random(kernels_test::seed());
  constexpr std::size_t kMost = 300, kRoom = kMost + 64 + 2 * kGuard;
  Buffer to(kRoom, 0, random), from(kRoom, 0, random);
  std::vector<std::byte> expected = to.content();
  for (std::size_t bytes = 0; bytes <= kMost; ++bytes) {
    for (std::size_t t = kGuard; t <= kGuard + 64; ++t) {
      for (std::size_t f = kGuard; f <= kGuard + 64; ++f) {
        // Other data each time, so that an earlier copy cannot have left the right answer.
        if (bytes > 0) ++reinterpret_cast<unsigned char*>(from.data())[f + (t * 7 + f) % bytes];
        std::memcpy(expected.data() + t, from.data() + f, bytes);
        rma::copy(to.data() + t, from.data() + f, bytes);
        ASSERT_EQ(std::memcmp(&expected[t - 8], to.data() + t - 8, bytes + 16), 0)
            << bytes << " bytes from " << f << " to " << t;
      }
      ASSERT_EQ(std::memcmp(expected.data(), to.data(), kRoom), 0) << bytes << " bytes to " << t;
    }
  }
}

TEST(Copy, EveryMethodAroundItsThresholds) {
  SCOPED_TRACE(kernels_test::replay());
  base::Random random(kernels_test::seed());
  constexpr std::size_t kSizes[] = {65,   96,   127,  128,  129,  255,  256,  257,  300,  383,  384,  511,  512,  513,
                                    1023, 1024, 1025, 1279, 1280, 1536, 2047, 2048, 4095, 4096, 4097, 8191, 8192, 8193};
  Buffer to(13'000, 0, random), from(13'000, 0, random);
  for (const CopyMethods& method : copy_methods()) {
    for (const std::size_t bytes : kSizes) {
      for (int i = 0; i < 60; ++i) {
        const std::size_t t = kGuard + random.below(4200), f = kGuard + random.below(4200);
        ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, t, from, f, bytes));
      }
    }
  }
}

// The pages' ends are treated apart: both ends at every distance from one.
TEST(Copy, EveryMethodAtPageEnds) {
  base::Random random(kernels_test::seed());
  Buffer to(20'000, 0, random), from(20'000, 0, random);
  for (const CopyMethods& method : copy_methods()) {
    for (std::size_t start = 4096 - 70; start < 4096 + 70; ++start) {
      for (std::size_t end = 8192 - 66 + start % 3; end < 8192 + 66; end += 3) {
        ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, start, from, start % 67 + kGuard, end - start));
      }
    }
  }
}

// Nothing beyond source and destination is touched, not even read: unmapped pages lie at both ends of each.
TEST(Copy, EveryMethodBetweenUnmappedPages) {
  base::Random random(kernels_test::seed());
  constexpr std::size_t kBytes = 20 * 4096;
  Fenced to(kBytes), from(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) from.data()[i] = static_cast<std::byte>(random.next());
  std::vector<std::size_t> sizes{4095, 4096, 4097, 8192, 24 * kKiB - 1, 24 * kKiB, 30'001, 70'000};
  for (std::size_t bytes = kInlineCopyBytes + 1; bytes < 1400; ++bytes) sizes.push_back(bytes);
  for (const CopyMethods& method : copy_methods()) {
    for (const std::size_t bytes : sizes) {
      for (const bool to_end : {false, true}) {
        for (const bool from_end : {false, true}) {
          std::byte* const t = to.data() + (to_end ? kBytes - bytes : 0);
          const std::byte* const f = from.data() + (from_end ? kBytes - bytes : 0);
          method.copy(t, f, bytes);
          ASSERT_EQ(std::memcmp(t, f, bytes), 0) << method.name << ", " << bytes << " bytes";
        }
      }
    }
  }
}

// Where glibc 2.36's memcpy is slow: nothing to see here but that the result is right.
TEST(Copy, AliasOffsets) {
  base::Random random(kernels_test::seed());
  for (const std::size_t bytes : {2 * kKiB, 8 * kKiB, 100 * kKiB, kMiB, kMiB + 1}) {
    Buffer to(bytes + 8192 + 2 * kGuard, 0, random), from(bytes + 8192 + 2 * kGuard, 0, random);
    for (std::size_t apart = 0; apart <= 64; apart += bytes > 8 * kKiB ? 5 : 1) {
      ASSERT_NO_FATAL_FAILURE(expect_copied(nullptr, to, 4096 + apart, from, 8192, bytes));
      ASSERT_NO_FATAL_FAILURE(expect_copied(nullptr, to, 8192, from, 4096 + apart, bytes));
    }
  }
}

TEST(Copy, RandomLarge) {
  SCOPED_TRACE(kernels_test::replay());
  base::Random random(kernels_test::seed());
  Buffer to(20 * kMiB, 0, random), from(20 * kMiB, 0, random);
  for (const CopyMethods& method : copy_methods()) {
    for (int i = 0; i < 18; ++i) {
      const std::size_t most = i % 3 == 0 ? 16 * kMiB : i % 3 == 1 ? 2 * kMiB : 64 * kKiB;
      const std::size_t bytes = random.between(most / 4, most);
      const std::size_t t = kGuard + random.below(5000), f = kGuard + random.below(5000);
      ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, t, from, f, bytes));
    }
    // The ways for big copies, both in co-aligned and in other positions.
    for (const std::size_t bytes :
         {24 * kKiB - 1, 24 * kKiB, 5 * kMiB, 5 * kMiB + 1, nontemporal_from_bytes(), nontemporal_from_bytes() + 333}) {
      if (bytes > 19 * kMiB) continue;  // a machine with a huge cache
      ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, kGuard, from, kGuard, bytes));
      ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, kGuard + 7, from, kGuard, bytes));
      ASSERT_NO_FATAL_FAILURE(expect_copied(&method, to, kGuard + 16, from, kGuard + 48, bytes));
    }
  }
}

TEST(Copy, OntoItself) {
  base::Random random(kernels_test::seed());
  Buffer memory(16 * kMiB, 5, random);
  const std::vector<std::byte> before = memory.content();
  for (const CopyMethods& method : copy_methods()) {
    for (const std::size_t bytes :
         {std::size_t{3}, std::size_t{64}, std::size_t{200}, kKiB, 8 * kKiB, 50 * kKiB, 6 * kMiB, 13 * kMiB}) {
      copy_by(&method, memory.data() + 9, memory.data() + 9, bytes);
    }
  }
  EXPECT_EQ(before, memory.content());
}

TEST(Copy, RowsOfEverySize) {
  SCOPED_TRACE(kernels_test::replay());
  base::Random random(kernels_test::seed());
  Buffer to(200'000, 0, random), from(200'000, 0, random);
  for (const CopyMethods& method : copy_methods()) {
    for (std::size_t row = 0; row <= 1400; row += row < 80 ? 1 : 77) {
      const std::size_t rows = random.between(0, 9), t = random.below(70), f = random.below(70);
      const std::size_t to_stride = row + random.below(200), from_stride = random.below(2 * row + 2);
      std::vector<std::byte> expected = to.content();
      for (std::size_t i = 0; i < rows && row > 0; ++i) {
        std::memcpy(expected.data() + t + i * to_stride, from.data() + f + i * from_stride, row);
      }
      method.copy_rows(to.data() + t, static_cast<std::ptrdiff_t>(to_stride), from.data() + f,
                       static_cast<std::ptrdiff_t>(from_stride), row, rows);
      ASSERT_EQ(std::memcmp(expected.data(), to.data(), to.size()), 0) << method.name << " " << rows << "×" << row;
    }
  }
}

/// One thread copies words whose bytes are all the same, another polls: unequal ones would be a torn word. Goes on
/// until the poller has looked often enough, wherever the scheduler puts the two.
template <typename Word, typename CopyWord>
void expect_never_torn(CopyWord&& copy_word) {
  constexpr Word kOnes = static_cast<Word>(~Word{0}) / 0xff;  // 0x0101…
  alignas(64) std::atomic<Word> shared{0};
  std::atomic<bool> done{false};
  std::uint64_t torn = 0;
  std::thread poller([&] {
    int changes = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    for (Word last = 0; changes < 20'000 && std::chrono::steady_clock::now() < end;) {
      const Word seen = shared.load(std::memory_order_relaxed);  // partner: copy_word
      torn += seen != static_cast<Word>(kOnes * static_cast<Word>(seen & 0xff));
      changes += seen != last;
      last = seen;
    }
    done.store(true, std::memory_order_release);
  });
  for (unsigned i = 0; !done.load(std::memory_order_acquire); ++i) {  // partner: the store above
    alignas(8) const Word word = static_cast<Word>(kOnes * static_cast<Word>(i & 0xff));
    copy_word(&shared, &word);
  }
  poller.join();
  EXPECT_EQ(torn, 0u) << sizeof(Word) << " bytes";
}

[[gnu::noinline]] void copy_out_of_line(void* to, const void* from, std::size_t bytes) {
  asm volatile("");  // or the compiler makes a clone of it that knows the size
  copy(to, from, bytes);
}

TEST(Copy, WordsAreNeverTorn) {
  const auto plain = [](auto* to, const auto* from) { copy(to, from, sizeof *from); };
  expect_never_torn<std::uint8_t>(plain);
  expect_never_torn<std::uint16_t>(plain);
  expect_never_torn<std::uint32_t>(plain);
  expect_never_torn<std::uint64_t>(plain);
  const auto of_unknown_size = [](auto* to, const auto* from) { copy_out_of_line(to, from, sizeof *from); };
  expect_never_torn<std::uint32_t>(of_unknown_size);
  expect_never_torn<std::uint64_t>(of_unknown_size);
}

TEST(Copy, RowsOfWordsAreNeverTorn) {
  const auto row = [](auto* to, const auto* from) { copy_rows(to, 64, from, 64, sizeof *from, 1); };
  expect_never_torn<std::uint8_t>(row);
  expect_never_torn<std::uint16_t>(row);
  expect_never_torn<std::uint32_t>(row);
  expect_never_torn<std::uint64_t>(row);
}

}  // namespace
}  // namespace grapnel::rma
