// SPDX-License-Identifier: Apache-2.0
#include "launch/kept_open.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "launch/launcher_signs.hpp"

namespace grapnel::launch {
namespace {

// Of the first of the three; apart from the tags of other layers.
constexpr std::uint64_t kFirstTag = 0x6b65'7074'6f70'6500;

// A program may have closed its output; then the socket takes its place, so that the next rank gets three.
os::Descriptor copy_of(int number, int instead) {
  const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  return os::Descriptor(copy >= 0 ? copy : ::fcntl(instead, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

Result<KeptOpen> KeptOpen::exchange(Launch& launch) {
  KeptOpen kept;
  const LauncherSigns signs = LauncherSigns::now();
  const auto& ranks = launch.nodes().ranks_of[index(launch.node())];
  if (!signs.offers_pmi1() || signs.offers_grapnel_run() || ranks.size() < 2) return kept;
  const std::size_t place = places_in_nodes(launch.nodes())[index(launch.rank())];
  const Rank next = ranks[(place + 1) % ranks.size()];
  const int socket = *signs.number("PMI_FD");
  const std::array<int, 3> mine{STDOUT_FILENO, STDERR_FILENO, socket};
  for (std::size_t i = 0; i < mine.size(); ++i) {
    GRAPNEL_TRY(launch.send_descriptor(next, kFirstTag + i, copy_of(mine[i], socket)));
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    GRAPNEL_ASSIGN_OR_RETURN(auto theirs, launch.receive_descriptor(kFirstTag + i));
    kept.descriptors_.push_back(std::move(theirs));
  }
  return kept;
}

}  // namespace grapnel::launch
