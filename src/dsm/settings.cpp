// SPDX-License-Identifier: Apache-2.0
#include "dsm/settings.hpp"

#include "base/variables.hpp"

namespace grapnel::dsm {

const base::SettingsGroup& Settings::group() {
  using base::alike_in_all_ranks;
  static const base::SettingsGroup settings{
      Settings(),
      {
          alike_in_all_ranks(base::integer("GRAPNEL_DSM_HEAP_BYTES", "length of the shared heap",
                                           "65536..1099511627776", &Settings::heap_bytes, 64 * base::kKiB,
                                           1024 * base::kGiB)),
          alike_in_all_ranks(base::choice("GRAPNEL_DSM_PROTOCOL", "how the shared heap is kept coherent", "hlrc|lrc",
                                          &Settings::protocol,
                                          {{"hlrc", ProtocolChoice::hlrc}, {"lrc", ProtocolChoice::lrc}})),
          base::choice("GRAPNEL_DSM_TRAP", "how the shared heap notices accesses", "auto|uffd|mprotect",
                       &Settings::trap,
                       {{"auto", TrapKind::automatic}, {"uffd", TrapKind::uffd}, {"mprotect", TrapKind::mprotect}}),
          alike_in_all_ranks(base::choice("GRAPNEL_DSM_HOMES", "which node keeps a page of the shared heap",
                                          "first_touch|block|round_robin", &Settings::homes,
                                          {{"first_touch", HomeChoice::first_touch},
                                           {"block", HomeChoice::block},
                                           {"round_robin", HomeChoice::round_robin}})),
          alike_in_all_ranks(base::choice("GRAPNEL_DSM_MOVES",
                                          "whether barriers move a page's home to the only node that writes it",
                                          "on|off", &Settings::moves, {{"on", Moves::on}, {"off", Moves::off}})),
          alike_in_all_ranks(base::integer("GRAPNEL_DSM_READ_AHEAD", "pages that one fetch of the shared heap brings",
                                           "1..16", &Settings::read_ahead, 1, 16)),
          alike_in_all_ranks(base::integer("GRAPNEL_DSM_LOCKS", "locks of the shared heap", "1..1048576",
                                           &Settings::locks, 1, 1048576)),
          base::text("GRAPNEL_DSM_REPORT", "where rank 0 writes which nodes share which pages of the shared heap",
                     "a file's name", &Settings::report),
          alike_in_all_ranks(base::integer(
              "GRAPNEL_DSM_RECORD_BYTES", "records of a node with lrc; past half of it a barrier collects them",
              "65536..1099511627776", &Settings::record_bytes, 64 * base::kKiB, 1024 * base::kGiB)),
      }};
  return settings;
}

}  // namespace grapnel::dsm
