// The table of updates' kernels gives what the reductions give, bit by bit.
// SPDX-License-Identifier: Apache-2.0
#include "rma/update_kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.hpp"

namespace grapnel::rma {
namespace {

constexpr std::size_t kMostElements = 150;

/// Small whole numbers of the type's own form, so that sums of floating-point numbers are the same in any order.
std::vector<std::byte> elements(NumberType number, std::size_t count, base::Random& random) {
  std::vector<std::byte> made(count * kMostElementBytes);
  const auto fill = [&](auto zero) {
    for (std::size_t at = 0; at + sizeof zero <= made.size(); at += sizeof zero) {
      const auto value = static_cast<decltype(zero)>(random.below(100));
      std::memcpy(made.data() + at, &value, sizeof value);
    }
  };
  switch (number) {
    case NumberType::float32:
    case NumberType::complex64:
    case NumberType::float32_pair: fill(0.0F); break;
    case NumberType::float64:
    case NumberType::complex128:
    case NumberType::float64_pair: fill(0.0); break;
    case NumberType::long_double:
    case NumberType::complex_long_double: fill(0.0L); break;
    default: fill(std::uint8_t{0});
  }
  return made;
}

TEST(UpdateKernels, AreTheReductions) {
  base::Random random(7);
  for (int operation = 0; operation < kOperations; ++operation) {
    for (int type = 0; type < kNumberTypes; ++type) {
      const auto number = static_cast<NumberType>(type);
      const auto wanted = reduction(static_cast<Operation>(operation), number);
      const Reduction* const kernel = find_kernel(static_cast<Operation>(operation), number);
      const bool exists = wanted.ok() && wanted->prepare == nullptr;
      ASSERT_EQ(kernel != nullptr, exists) << "operation " << operation << " of type " << type;
      if (!exists) continue;
      EXPECT_EQ(kernel->element_bytes, wanted->element_bytes);
      EXPECT_STREQ(kernel->name, wanted->name);
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, kMostElements}) {
        const auto from = elements(number, kMostElements, random);
        auto mine = elements(number, kMostElements, random);
        auto theirs = mine;
        kernel->join(mine.data(), from.data(), count);
        wanted->join(theirs.data(), from.data(), count);
        EXPECT_EQ(mine, theirs) << kernel->name << ", " << count << " elements";
      }
    }
  }
}

TEST(UpdateKernels, NoOtherNumberNamesOne) {
  EXPECT_EQ(find_kernel(static_cast<Operation>(kOperations), NumberType::int8), nullptr);
  EXPECT_EQ(find_kernel(static_cast<Operation>(255), NumberType::int8), nullptr);
  EXPECT_EQ(find_kernel(Operation::sum, static_cast<NumberType>(kNumberTypes)), nullptr);
  EXPECT_EQ(find_kernel(Operation::sum, static_cast<NumberType>(255)), nullptr);
}

}  // namespace
}  // namespace grapnel::rma
