// Sizes and times by name, and the arithmetic of rounding.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace grapnel::base {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;
inline constexpr std::size_t kGiB = 1024 * kMiB;
inline constexpr std::size_t kCacheLineBytes = 64;

inline constexpr std::uint64_t kMicrosecond_ns = 1'000;
inline constexpr std::uint64_t kMillisecond_ns = 1'000'000;
inline constexpr std::uint64_t kSecond_ns = 1'000'000'000;

constexpr std::size_t divide_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }
/// `granule` need not be a power of two.
constexpr std::size_t round_up(std::size_t value, std::size_t granule) { return divide_up(value, granule) * granule; }

}  // namespace grapnel::base
