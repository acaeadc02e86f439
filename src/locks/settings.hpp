// The settings of the layer locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/config.hpp"
#include "base/variables.hpp"
#include "grapnel/lock.hpp"

namespace grapnel::locks {

struct Settings {
  LockKind kind = LockKind::cohort;               ///< of locks that are created without a kind
  AtomicDomain domain = AtomicDomain::processor;  ///< of these, without payloads and shared mode
  std::uint64_t backoff_ns = 2'000;               ///< first pause of locks that try again
  std::uint64_t backoff_most_ns = 1'000'000;      ///< and the longest

  static const base::SettingsGroup& group();
};

/// For `base::choice`: the values of a variable that names a kind of lock.
inline constexpr const char* kKindNames =
    "server_queue|ticket|armci_hybrid|test_and_set|mcs|mcs_by_cas|cohort|reader_writer";
std::vector<base::Choice<LockKind>> kind_choices();
/// The same of a variable that names an atomic domain.
inline constexpr const char* kDomainNames = "processor|network";
std::vector<base::Choice<AtomicDomain>> domain_choices();

}  // namespace grapnel::locks
