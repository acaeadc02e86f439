// The locks as a service of the runtime: how it is opened, and what it reports.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/codec.hpp"
#include "core/core.hpp"
#include "locks/locks.hpp"

namespace grapnel::locks {
namespace {

Result<std::unique_ptr<core::Service>> open(core::Core& core, progress::HandlerId) {
  return std::unique_ptr<core::Service>(std::make_unique<Locks>(core));
}

std::string duration(std::uint64_t ns) {
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.3g} us", static_cast<double>(ns) / 1e3);
  return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
}

// Empty where no lock was used.
std::string table(const std::vector<LockCounts>& by_kind) {
  std::string text;
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    const LockCounts& counts = by_kind[kind];
    if (counts.acquisitions + counts.gave_up == 0) continue;
    if (text.empty()) {
      text = fmt::format("{:<18} {:>14} {:>16} {:>16} {:>12} {:>12} {:>12} {:>12}\n", "locks", "acquisitions",
                         "local hand-offs", "remote hand-offs", "gave up", "messages", "by servers", "by adapters");
    }
    text +=
        fmt::format("{:<18} {:>14} {:>16} {:>16} {:>12} {:>12} {:>12} {:>12}\n", to_string(static_cast<LockKind>(kind)),
                    counts.acquisitions, counts.local_hand_offs, counts.remote_hand_offs, counts.gave_up,
                    counts.messages, counts.server_messages, counts.adapter_operations);
    for (std::size_t k = 0; k < LockCounts::kWaitClasses; ++k) {
      if (counts.waits[k] == 0) continue;
      text += fmt::format("  waited < {:<10} {:>12}\n", duration(std::uint64_t{1} << k), counts.waits[k]);
    }
  }
  return text;
}

}  // namespace

const core::ServiceType kService{"locks", Settings::group, nullptr, 0, open};

Result<std::string> Locks::report(const core::Gather& gather) {
  std::vector<LockCounts> sum(kLockKinds);
  const std::vector<LockCounts> mine = counts();
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, gather(std::as_bytes(std::span(mine))));
  for (const Bytes& one : all) {
    base::Decoder counts(one);
    for (LockCounts& kind : sum) {
      if (const auto theirs = counts.get<LockCounts>()) add(kind, *theirs);
    }
  }
  return table(sum);
}

}  // namespace grapnel::locks
