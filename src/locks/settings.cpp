// SPDX-License-Identifier: Apache-2.0
#include "locks/settings.hpp"

#include "base/units.hpp"

namespace grapnel::locks {

std::vector<base::Choice<LockKind>> kind_choices() {
  return {{"server_queue", LockKind::server_queue},
          {"ticket", LockKind::ticket},
          {"armci_hybrid", LockKind::armci_hybrid},
          {"test_and_set", LockKind::test_and_set},
          {"mcs", LockKind::mcs},
          {"mcs_by_cas", LockKind::mcs_by_cas},
          {"cohort", LockKind::cohort},
          {"reader_writer", LockKind::reader_writer}};
}

std::vector<base::Choice<AtomicDomain>> domain_choices() {
  return {{"processor", AtomicDomain::processor}, {"network", AtomicDomain::network}};
}

const base::SettingsGroup& Settings::group() {
  static const base::SettingsGroup settings{
      Settings(),
      {
          base::alike_in_all_ranks(base::choice("GRAPNEL_LOCK",
                                                "the algorithm of locks that are created without a kind", kKindNames,
                                                &Settings::kind, kind_choices())),
          base::alike_in_all_ranks(base::choice(
              "GRAPNEL_LOCK_DOMAIN", "what updates locks that are created without a kind, payloads and shared mode",
              kDomainNames, &Settings::domain, domain_choices())),
          base::integer("GRAPNEL_LOCK_BACKOFF_NS", "first pause of a lock that tries again", "100..1000000000",
                        &Settings::backoff_ns, 100, base::kSecond_ns),
          base::integer("GRAPNEL_LOCK_BACKOFF_MOST_NS", "longest pause of a lock that tries again", "100..1000000000",
                        &Settings::backoff_most_ns, 100, base::kSecond_ns),
      }};
  return settings;
}

}  // namespace grapnel::locks
