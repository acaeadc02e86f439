// ARMCI's numbers for element types, and the core's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>

#include "api/armci/define.hpp"
#include "grapnel/element.hpp"
#include "grapnel/status.hpp"

namespace grapnel::armci {

/// By ARMCI_ACC_... less ARMCI_ACC_INT.
inline constexpr std::array kElementOf = {ElementType::int32,     ElementType::float64,    ElementType::float32,
                                          ElementType::complex64, ElementType::complex128, ElementType::int64,
                                          ElementType::xor64};

constexpr bool is_accumulate_type(int type) { return type >= ARMCI_ACC_INT && type <= ARMCI_ACC_RA; }

/// Of a type that `is_accumulate_type`.
constexpr ElementType element_of(int type) { return kElementOf[static_cast<std::size_t>(type - ARMCI_ACC_INT)]; }

inline Status bad_accumulate_type(int type) {
  return {Code::invalid_argument,
          fmt::format("type {} is none of ARMCI_ACC_INT..ARMCI_ACC_RA ({}..{})", type, ARMCI_ACC_INT, ARMCI_ACC_RA)};
}

}  // namespace grapnel::armci
