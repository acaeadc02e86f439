// The settings of the layer dsm: the shared heap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/config.hpp"
#include "base/units.hpp"

namespace grapnel::dsm {

enum class TrapKind { automatic, uffd, mprotect };
enum class ProtocolChoice { hlrc, lrc };
enum class HomeChoice { first_touch, block, round_robin };
enum class Moves { on, off };

struct Settings {
  ProtocolChoice protocol = ProtocolChoice::hlrc;
  TrapKind trap = TrapKind::automatic;
  HomeChoice homes = HomeChoice::first_touch;
  std::uint64_t heap_bytes = base::kGiB;
  std::uint32_t read_ahead = 16;  ///< pages that one fetch brings at most
  std::uint32_t locks = 4096;
  std::string report;                             ///< file; empty: none
  std::uint64_t record_bytes = 256 * base::kMiB;  ///< lrc: of a node's records
  Moves moves = Moves::on;

  static const base::SettingsGroup& group();
};

}  // namespace grapnel::dsm
