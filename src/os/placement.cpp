// SPDX-License-Identifier: Apache-2.0
#include "os/placement.hpp"

#include <sched.h>

#include "os/identity.hpp"
#include "os/internal/cpu_set.hpp"

namespace grapnel::os {

bool leave_cpu() {
  const std::vector<int> allowed = cpus_allowed();
  std::vector<int> others = allowed;
  std::erase(others, ::sched_getcpu());
  if (others.empty() || others.size() == allowed.size()) return false;
  const internal::CpuSet elsewhere(others);
  const internal::CpuSet everywhere(allowed);
  const bool moved = ::sched_setaffinity(0, elsewhere.bytes(), elsewhere.get()) == 0;
  // Refused only where another set was forced upon the process in between, which then holds.
  (void)::sched_setaffinity(0, everywhere.bytes(), everywhere.get());
  return moved;
}

}  // namespace grapnel::os
