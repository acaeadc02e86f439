// Sizes and times as people write them: "512G", "80us", "1.5M".
//
// The one parser for settings; a setting's unit is the last word of its name (GRAPNEL_POOL_BYTES, GRAPNEL_SPIN_NS).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace grapnel::base {

enum class Unit { none, bytes, ns, us, ms, s };

/// By the last word of a setting's name: _BYTES, _NS, _US, _MS, _S.
Unit unit_of(std::string_view setting);

/// What may follow the number, in words; empty for `none`.
std::string_view units_taken(Unit unit);

/// The number in `unit`. Bytes take K, M, G, T (powers of 1024; also KB, KiB, and B alone), times ns, us, ms, s and
/// min, in capitals or not; without one the number is in `unit` already. Nothing for what is none, is no whole number
/// of `unit`, or exceeds 64 bits.
std::optional<std::uint64_t> parse_quantity(std::string_view text, Unit unit);

}  // namespace grapnel::base
